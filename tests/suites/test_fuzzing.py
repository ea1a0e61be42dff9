"""fuzzing: each recipe does what its name says, and keeps what holds in the database."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from answerkey.suites.constants import Conditions
from answerkey.suites.rows import Rows
from tests.suites.world import ask, make_variant, read_world

SHIPS = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE ship (id INTEGER PRIMARY KEY, port_id INT REFERENCES port, flag TEXT, tons INT NOT NULL
  CHECK (tons > 0));
CREATE TABLE crew (ship_id INT REFERENCES ship, sailor TEXT, PRIMARY KEY (ship_id, sailor));
INSERT INTO port VALUES (1, 'Lima'), (2, 'Oslo'), (3, 'Perth'), (4, 'Turku');
INSERT INTO ship VALUES (1, 1, 'Peru', 10), (2, 1, 'Peru', 20), (3, 2, 'Norway', 30),
  (4, 3, 'Malta', 40), (5, 3, 'Chad', 50), (6, 2, 'Laos', 60), (7, 2, 'Mali', 70),
  (8, 4, 'Fiji', 80);
INSERT INTO crew VALUES (1, 'Ann'), (1, 'Bo'), (2, 'Ann'), (3, 'Cid'), (4, 'Dee'), (5, 'Eve');
"""


@pytest.fixture
def ships(tmp_path: Path) -> Rows:
    return read_world(tmp_path, SHIPS)


def column(rows: Rows, table: str, place: int) -> list:
    return [row[place] for row in rows.tables[table].rows]


def test_subsample_takes_some_rows_with_their_parents(ships: Rows) -> None:
    variant = make_variant(ships, "subsample", max_rows=3)
    for name, table in variant.tables.items():
        assert 3 <= len(table.rows) <= 6
        assert set(table.rows) <= set(ships.tables[name].rows)
    assert variant.tables != make_variant(ships, "subsample", seed=1, max_rows=3).tables


def test_subsample_takes_rows_that_hold_a_constant(ships: Rows) -> None:
    for seed in range(5):
        options = {"seed": seed, "max_rows": 3, "constants": [("ship", 2, "Chad")]}
        assert "Chad" in column(make_variant(ships, "subsample", **options), "ship", 2)


def test_permute_puts_the_same_values_on_other_rows(ships: Rows) -> None:
    variant = make_variant(ships, "permute")
    for place in range(4):
        values = column(ships, "ship", place)
        assert Counter(column(variant, "ship", place)) == Counter(values)
        is_free = place in (2, 3)
        assert (column(variant, "ship", place) != values) == is_free
    assert variant.tables["crew"] == ships.tables["crew"]  # all of it is a key


def test_reassign_gives_rows_other_parents(ships: Rows) -> None:
    variant = make_variant(ships, "reassign")
    assert column(variant, "ship", 1) != column(ships, "ship", 1)
    assert set(column(variant, "ship", 1)) <= {1, 2, 3, 4}
    for place in (0, 2, 3):
        assert column(variant, "ship", place) == column(ships, "ship", place)
    assert column(variant, "crew", 0) != column(ships, "crew", 0)


def test_childless_leaves_parents_without_children(ships: Rows) -> None:
    variant = make_variant(ships, "childless")
    for child, place, parent in (("ship", 1, "port"), ("crew", 0, "ship")):
        with_children = set(column(variant, child, place))
        assert with_children < set(column(ships, child, place))
        assert column(variant, parent, 0) == column(ships, parent, 0)
    assert len(column(variant, "ship", 0)) == 8  # they moved
    assert len(column(variant, "crew", 0)) < 6  # no other ship may have the same sailor twice


def test_collide_makes_values_equal_that_differed(ships: Rows) -> None:
    variant = make_variant(ships, "collide")
    assert len(set(column(variant, "ship", 3))) < 8
    assert set(column(variant, "ship", 3)) < set(column(ships, "ship", 3))
    assert column(variant, "ship", 0) == column(ships, "ship", 0)
    free = Counter((row[2], row[3]) for row in variant.tables["ship"].rows)
    assert free.most_common(1)[0][1] > 1


def test_plant_puts_constants_and_what_is_near_them_into_rows(ships: Rows) -> None:
    constants = [("ship", 3, 33), ("port", 1, "Rome"), ("ship", 0, 90)]
    variant = make_variant(ships, "plant", constants=constants)
    assert {32, 33, 34} & set(column(variant, "ship", 3))
    assert {"x Rome", "Rome", "Rome x"} & set(column(variant, "port", 1))
    assert {89, 90, 91} < set(column(variant, "ship", 0))
    assert len(column(variant, "ship", 0)) == 11


def test_plant_leaves_out_what_a_column_would_not_hold(ships: Rows) -> None:
    constants = [("ship", 3, "many"), ("ship", 3, -5), ("ship", 3, None)]
    variant = make_variant(ships, "plant", constants=constants)
    assert variant.tables == ships.tables


def test_a_reference_is_null_only_where_one_is_in_the_database(tmp_path: Path) -> None:
    sql = SHIPS + "INSERT INTO ship VALUES (9, NULL, 'Laos', 15)"
    rows = read_world(tmp_path, sql)
    variants = [make_variant(rows, "nulls", seed=seed) for seed in range(6)]
    assert max(column(variant, "ship", 1).count(None) for variant in variants) > 1


def test_copy_adds_rows_under_new_keys(ships: Rows) -> None:
    variant = make_variant(ships, "copy")
    old, new = ships.tables["ship"].rows, variant.tables["ship"].rows
    assert new[:8] == old
    assert [row[0] for row in new[8:]] == [9, 10, 11]
    assert {row[1:] for row in new[8:]} <= {row[1:] for row in old}
    assert len(variant.tables["crew"].rows) == 8


def test_fill_makes_rows_for_tables_with_few(tmp_path: Path) -> None:
    sql = """CREATE TABLE person (code TEXT PRIMARY KEY, born DATE, boss TEXT NOT NULL REFERENCES
      person);
    CREATE TABLE car (owner TEXT REFERENCES person, year INT, price REAL CHECK (price > 0));
    CREATE TABLE wheel (name TEXT UNIQUE, car_year INT);
    INSERT INTO wheel VALUES ('W07', 1990);"""
    variant = make_variant(read_world(tmp_path, sql), "fill", max_rows=12)
    assert [len(table.rows) for table in variant.tables.values()] == [6, 6, 6]
    assert column(variant, "wheel", 0) == [f"W{number:02}" for number in range(7, 13)]
    assert set(column(variant, "wheel", 1)) == {1990}
    assert set(column(variant, "car", 0)) <= set(column(variant, "person", 0))
    assert all(born.startswith("2001-01-") for born in column(variant, "person", 1))
    assert ask(variant, "PRAGMA foreign_key_check") == []


def test_permute_puts_keys_on_other_rows_where_nothing_refers_to_them(tmp_path: Path) -> None:
    world = read_world(
        tmp_path,
        """CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE ship (id INTEGER PRIMARY KEY, port_id INT REFERENCES port, mail TEXT UNIQUE);
        INSERT INTO port VALUES (1, 'Lima'), (2, 'Oslo'), (3, 'Perth'), (4, 'Turku');
        INSERT INTO ship VALUES (1, 1, 'a@b'), (2, 1, 'b@b'), (3, 2, 'c@b'), (4, 3, 'd@b');""",
    )
    variants = [make_variant(world, "permute", seed) for seed in range(5)]
    for variant in variants:
        for name, place in (("port", 1), ("ship", 2)):
            assert sorted(column(variant, name, place)) == sorted(column(world, name, place))
    assert len({tuple(column(variant, "port", 1)) for variant in variants}) > 1
    assert len({tuple(column(variant, "ship", 2)) for variant in variants}) > 1
    assert {tuple(column(variant, "port", 0)) for variant in variants} == {(1, 2, 3, 4)}


def test_conditions_refer_to_a_new_row_where_few_rows_are_referred_to(tmp_path: Path) -> None:
    """The flags, of which there are as few, are a vocabulary, to which nothing is added."""
    ships = ", ".join(f"({n}, {1 + n % 4}, '{('Peru', 'Mali')[n % 2]}', 9)" for n in range(80))
    sql = f"{SHIPS} DELETE FROM crew; DELETE FROM ship; INSERT INTO ship VALUES {ships};"
    conditions = Conditions(
        ("ship", "port"),
        (((0, 2), "Togo", "x"), ((1, 1), "Riga", "Ra")),
        equal=(((0, 1), (1, 0)),),
    )
    variant = make_variant(read_world(tmp_path, sql), "conditions", conditions=[conditions])
    riga = "SELECT DISTINCT flag FROM ship JOIN port ON port.id = port_id WHERE name = 'Riga'"
    assert {flag for (flag,) in ask(variant, riga)} in ({"Peru"}, {"Mali"}, {"Peru", "Mali"})


def test_skew_gives_groups_sizes_that_differ(tmp_path: Path) -> None:
    values = ", ".join(f"({key}, {key % 3})" for key in range(20))
    world = read_world(
        tmp_path, f"CREATE TABLE t (id INTEGER PRIMARY KEY, a INT);INSERT INTO t VALUES {values};"
    )
    sizes = [
        sorted(Counter(column(make_variant(world, "skew", seed), "t", 1)).values())
        for seed in range(6)
    ]
    assert [4, 5, 11] in sizes


def test_conditions_add_rows_that_meet_all_and_all_but_one(ships: Rows) -> None:
    flag, port = (
        ((0, 2), "Togo", "x Togo"),
        ((1, 1), "Riga", "Ra"),
    )
    joined = (((0, 1), (1, 0)),)
    conditions = Conditions(("ship", "port"), (flag, port), joined)
    variant = make_variant(ships, "conditions", conditions=[conditions])
    sql = "SELECT flag, port.name FROM ship JOIN port ON port.id = port_id"
    assert {("Togo", "Riga"), ("x Togo", "Riga"), ("Togo", "Ra")} <= set(ask(variant, sql))


def test_conditions_add_as_many_rows_of_a_group_as_are_asked_for(ships: Rows) -> None:
    of_port = Conditions(
        ("port", "ship"),
        (((1, 2), "Togo", "x"),),
        equal=(((0, 0), (1, 1)),),
        shared=((0, 1),),
        count=6,
    )
    variant = make_variant(ships, "conditions", conditions=[of_port])
    sql = "SELECT count(*) FROM ship WHERE flag = 'Togo' GROUP BY port_id"
    assert ask(variant, sql) == [(6,)]  # of one port, not of six of one name


def test_conditions_bring_the_row_of_the_database_that_a_planted_row_refers_to(
    tmp_path: Path,
) -> None:
    ports = ", ".join(f"({n}, 'Port {n}')" for n in range(10, 60))
    world = read_world(tmp_path, f"{SHIPS} INSERT INTO port VALUES {ports};")
    of_port = Conditions(("ship",), (((0, 1), 47, 99),))
    for seed in range(4):
        variant = make_variant(world, "conditions", seed, max_rows=3, conditions=[of_port])
        sql = "SELECT DISTINCT port.name FROM ship JOIN port ON port.id = port_id WHERE port_id"
        assert ask(variant, f"{sql} = 47") == [("Port 47",)]
        assert ask(variant, f"{sql} = 99") == []
