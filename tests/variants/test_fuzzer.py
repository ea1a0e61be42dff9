"""fuzzer: each recipe does what its name says, and keeps what holds in the database."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.engines.schema import quote_name
from answerkey.variants import fuzzer
from answerkey.variants.constants import Conditions
from answerkey.variants.fuzzer import RECIPES
from answerkey.variants.keys import find_key_facts
from answerkey.variants.rows import Rows, open_tried, read_rows
from tests.variants.world import ask, make_variant, open_rows, read_world

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


def column(rows: Rows, table: str, column_index: int) -> list:
    return [row[column_index] for row in rows.tables[table].rows]


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
    for column_index in range(4):
        values = column(ships, "ship", column_index)
        assert Counter(column(variant, "ship", column_index)) == Counter(values)
        is_free = column_index in (2, 3)
        assert (column(variant, "ship", column_index) != values) == is_free
    assert variant.tables["crew"] == ships.tables["crew"]  # all of it is a key


def test_reassign_gives_rows_other_parents(ships: Rows) -> None:
    variant = make_variant(ships, "reassign")
    assert column(variant, "ship", 1) != column(ships, "ship", 1)
    assert set(column(variant, "ship", 1)) <= {1, 2, 3, 4}
    for column_index in (0, 2, 3):
        assert column(variant, "ship", column_index) == column(ships, "ship", column_index)
    assert column(variant, "crew", 0) != column(ships, "crew", 0)


def test_childless_leaves_parents_without_children(ships: Rows) -> None:
    variant = make_variant(ships, "childless")
    for child, column_index, parent in (("ship", 1, "port"), ("crew", 0, "ship")):
        with_children = set(column(variant, child, column_index))
        assert with_children < set(column(ships, child, column_index))
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


def test_a_reference_is_null_where_one_is_in_the_database(tmp_path: Path) -> None:
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


def test_permute_puts_keys_on_other_rows_where_nothing_refers_to_them(ships: Rows) -> None:
    variants = [make_variant(ships, "permute", seed) for seed in range(5)]
    names = {tuple(column(variant, "port", 1)) for variant in variants}
    assert len(names) > 1
    assert {tuple(sorted(values)) for values in names} == {tuple(column(ships, "port", 1))}
    assert {tuple(column(variant, "port", 0)) for variant in variants} == {(1, 2, 3, 4)}


def test_conditions_refer_to_a_new_row_where_few_rows_are_referred_to(tmp_path: Path) -> None:
    """The flags, of which there are as few, are a vocabulary, to which nothing is added."""
    ships = ", ".join(f"({n}, {1 + n % 4}, '{('Peru', 'Mali')[n % 2]}', 9)" for n in range(80))
    sql = f"{SHIPS} DELETE FROM crew; DELETE FROM ship; INSERT INTO ship VALUES {ships};"
    conditions = Conditions(
        ("ship", "port"), (((0, 2), "Togo", "x"), ((1, 1), "Riga", "Ra")), equal=(((0, 1), (1, 0)),)
    )
    variant = make_variant(read_world(tmp_path, sql), "conditions", conditions=[conditions])
    riga = "SELECT DISTINCT flag FROM ship JOIN port ON port.id = port_id WHERE name = 'Riga'"
    assert {flag for (flag,) in ask(variant, riga)} in ({"Peru"}, {"Mali"}, {"Peru", "Mali"})


def test_skew_gives_groups_sizes_that_differ(tmp_path: Path) -> None:
    values = ", ".join(f"({key}, {key % 3})" for key in range(20))
    sql = f"CREATE TABLE t (id INTEGER PRIMARY KEY, a INT);INSERT INTO t VALUES {values};"
    world = read_world(tmp_path, sql)
    sizes = [
        sorted(Counter(column(make_variant(world, "skew", seed), "t", 1)).values())
        for seed in range(6)
    ]
    assert [4, 5, 11] in sizes


def test_conditions_add_rows_that_meet_all_and_all_but_one(ships: Rows) -> None:
    flag, port = (((0, 2), "Togo", "x Togo"), ((1, 1), "Riga", "Ra"))
    joined = (((0, 1), (1, 0)),)
    conditions = Conditions(("ship", "port"), (flag, port), joined)
    variant = make_variant(ships, "conditions", conditions=[conditions])
    sql = "SELECT flag, port.name FROM ship JOIN port ON port.id = port_id"
    assert {("Togo", "Riga"), ("x Togo", "Riga"), ("Togo", "Ra")} <= set(ask(variant, sql))


def test_conditions_add_as_many_rows_of_a_group_as_are_asked_for(ships: Rows) -> None:
    joined = (((0, 0), (1, 1)),)
    of_port = Conditions(
        ("port", "ship"), (((1, 2), "Togo", "x"),), joined, ((0, 1),), group_size=6
    )
    variant = make_variant(ships, "conditions", conditions=[of_port])
    sql = "SELECT count(*) FROM ship WHERE flag = 'Togo' GROUP BY port_id"
    assert ask(variant, sql) == [(6,)]  # of one port, not of six of one name


def test_conditions_of_the_most_common_add_a_group_and_a_smaller_one(ships: Rows) -> None:
    ranked = Conditions(("ship",), (), (), ((0, 2),), is_ranked=True)
    sql = "SELECT count(*) FROM ship GROUP BY flag"
    answers = [
        ask(make_variant(ships, "conditions", n, conditions=[ranked]), sql) for n in range(4)
    ]
    assert any(len({*counts}) > 1 for counts in answers)


def test_near_misses_share_a_name_that_is_a_key_in_the_database(tmp_path: Path) -> None:
    rows = ", ".join(f"({n}, 'Ship {chr(65 + n)}', {n % 4})" for n in range(25))
    sql = "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tons INT);"
    sql = f"{sql} INSERT INTO ship VALUES {rows};"
    world = read_world(tmp_path, sql)
    wanted = Conditions(("ship",), (((0, 1), "Ship B", "x"), ((0, 2), 1, 0)))
    facts = find_key_facts(world)
    options = {"seed": 0, "conditions": [wanted], "constants": [("ship", 1, "Ship B")]}
    sql = "SELECT count(*), sum(tons = 1) FROM ship WHERE name = 'Ship B'"
    loose = facts.without_keys(world, {("ship", 1), ("ship", 0)})
    with open_tried(world) as tried:
        strict, other = (
            fuzzer.make_variant(world, known, "near_misses", tried=tried, **options)
            for known in (facts, loose)
        )
    assert ask(strict, sql) == [(1, 1)]
    [(count, full)] = ask(other, sql)
    assert count > 1 == full


def test_conditions_bring_the_parent_of_a_planted_row(tmp_path: Path) -> None:
    ports = ", ".join(f"({n}, 'Port {n}')" for n in range(10, 60))
    world = read_world(tmp_path, f"{SHIPS} INSERT INTO port VALUES {ports};")
    of_port = Conditions(("ship",), (((0, 1), 47, 99),))
    for seed in range(4):
        variant = make_variant(world, "conditions", seed, max_rows=3, conditions=[of_port])
        sql = "SELECT DISTINCT port.name FROM ship JOIN port ON port.id = port_id WHERE port_id"
        assert ask(variant, f"{sql} = 47") == [("Port 47",)]
        assert ask(variant, f"{sql} = 99") == []


# What holds in any database holds in each of its variants.


TABLES = ["ship", 'a "b"', "Order"]
TYPES = ["INTEGER", "TEXT", "REAL", "DATE", "", "TEXT COLLATE NOCASE", "INT NOT NULL"]
EXTRAS = [
    *("", "", "CHECK ({0} <> 2)", "UNIQUE", "CHECK (typeof({0}) <> 'text' OR length({0}) < 4)"),
    "GENERATED ALWAYS AS (length(id) + 1)",
]
KEYS = {
    "id INTEGER PRIMARY KEY, second INT": "",
    "id TEXT PRIMARY KEY, second INT": "",
    "id INT, second INT, third INT": "",
    "id TEXT NOT NULL, second INT UNIQUE": "UNIQUE (id, second)",
    "id INT, second INT": "PRIMARY KEY (id, second)",
}
REFERENCES = [
    "FOREIGN KEY (parent{0}) REFERENCES {1}",
    "FOREIGN KEY (PARENT{0}) REFERENCES {1} (ID)",
    "FOREIGN KEY (parent{0}, id) REFERENCES {1} (id, second)",
]
VALUES = ["NULL", "1", "2", "3", "4.5", "'a'", "'B'", "'b'", "'2020-02-28'", "x'61'", "''", "'x y'"]


@st.composite
def make_tables(draw: st.DrawFn) -> list[str]:
    """Tables with keys, columns and references of all kinds, also to themselves and in circles."""
    names = list(map(quote_name, TABLES[: draw(st.integers(1, 3))]))
    statements = []
    for name in names:
        key = draw(st.sampled_from(sorted(KEYS)))
        columns, constraints = [key], [KEYS[key]] if KEYS[key] else []
        for number in range(draw(st.integers(0, 3))):
            column = quote_name(f"co,l {number}")
            extra = draw(st.sampled_from(EXTRAS)).format(column)
            columns.append(f"{column} {draw(st.sampled_from(TYPES))} {extra}")
        for number in range(draw(st.integers(0, 2))):
            parent = draw(st.sampled_from(names))
            columns.append(f"parent{number} {draw(st.sampled_from(['INT', 'TEXT', '']))}")
            constraints.append(draw(st.sampled_from(REFERENCES)).format(number, parent))
        body = ", ".join([*columns, *constraints])
        is_keyed = "PRIMARY KEY" in body
        options = draw(st.sampled_from(["", " WITHOUT ROWID"])) if is_keyed else ""
        statements.append(f"CREATE TABLE {name} ({body}){options}")
    return statements


@st.composite
def make_databases(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[str]]]]:
    """A schema, and rows to insert, some of which it refuses."""
    tables = draw(make_tables())
    values = st.lists(st.sampled_from(VALUES), min_size=9, max_size=9)
    row = st.tuples(st.sampled_from(TABLES[: len(tables)]), values)
    return ";".join(tables), draw(st.lists(row, max_size=25))


def build(path: Path, schema: str, rows: list[tuple[str, list[str]]]) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for table, values in rows:
            columns = connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall()
            names = ", ".join(quote_name(column[1]) for column in columns)
            inserted = ", ".join(values[: len(columns)])
            with contextlib.suppress(sqlite3.IntegrityError):
                connection.execute(f"INSERT INTO {quote_name(table)} ({names}) VALUES ({inserted})")
        connection.commit()


def count_broken(connection: sqlite3.Connection, tables: list[str]) -> Counter[str]:
    """Rows that break a foreign key, by table; one that SQLite cannot check counts as none."""
    broken: Counter[str] = Counter()
    for table in tables:
        with contextlib.suppress(sqlite3.OperationalError):
            rows = connection.execute(f"PRAGMA foreign_key_check({quote_name(table)})").fetchall()
            broken[table] = len(rows)
    return broken


def list_kinds(connection: sqlite3.Connection, table: str, column: str) -> set[str]:
    sql = f"SELECT DISTINCT typeof({quote_name(column)}) FROM {quote_name(table)}"
    return {kind for (kind,) in connection.execute(sql)}


@given(make_databases(), st.sampled_from(sorted(RECIPES)), st.integers(0, 9))
def test_what_holds_of_a_database_holds_of_its_variants(
    database: tuple[str, list[tuple[str, list[str]]]], recipe: str, seed: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.sqlite"
        build(path, *database)
        rows = read_rows(path)
    constants = [(name, len(table.table.columns) - 1, 2) for name, table in rows.tables.items()]
    facts, names = find_key_facts(rows), list(rows.tables)
    variant = make_variant(rows, recipe, seed, constants=constants, max_rows=8)
    with open_rows(rows) as source, open_rows(variant) as target:
        assert target.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not count_broken(target, names) - count_broken(source, names)
        statements = "SELECT type, name, sql FROM sqlite_master ORDER BY rowid"
        assert target.execute(statements).fetchall() == source.execute(statements).fetchall()
        for name, table in rows.tables.items():
            for column_index in facts.free[name]:  # others may be of the type of what they refer to
                column = table.table.columns[column_index]
                kinds = list_kinds(source, name, column.name) - {"null"}
                if kinds and recipe not in ("plant", "everything"):
                    assert list_kinds(target, name, column.name) <= kinds | {"null"}
            rows_of_variant = variant.tables[name].rows
            for key in facts.keys[name]:
                values = [
                    tuple(row[column_index] for column_index in key) for row in rows_of_variant
                ]
                values = [value for value in values if None not in value]
                assert len(set(values)) == len(values)
