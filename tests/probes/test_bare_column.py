"""Columns that a group leaves open, and those that a key, a constant or the data settle."""

import pytest

from answerkey.probes.groups import find_bare_column
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE harbour (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, country TEXT);
INSERT INTO harbour VALUES (1, 'Alda', 'NL'), (2, 'Bree', 'BE'), (3, 'Cley', 'NL');
CREATE TABLE ship (id INT PRIMARY KEY, name TEXT, harbour_id INT, weight INT, built TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 1, 5, '1990-01-01'), (2, 'Tern', 1, 5, '1991-02-02'), (3, 'Ull', 2, 9, '1990-01-01'),
    (4, 'Vik', 3, 9, '1980-01-01'), (5, 'Vik', 3, 8, '1980-05-05');
CREATE TABLE crew (ship_id INT, rank TEXT, age INT);
INSERT INTO crew VALUES (1, 'mate', 30), (1, 'cook', NULL), (2, 'mate', 30), (2, 'mate', NULL);
CREATE TABLE berth (id INT PRIMARY KEY, name TEXT, number TEXT);
INSERT INTO berth VALUES (1, 'east', '1'), (NULL, 'north', '01'), (NULL, 'south', '2');
"""

FIRE = [
    "SELECT name, count(*) FROM ship GROUP BY harbour_id",
    "SELECT name, count(*) FROM ship",
    "SELECT name, 2 * sum(weight) FROM ship",
    "SELECT name, TOTAL(weight) FROM ship",
    "SELECT name, count(*) FILTER (WHERE weight > 8) FROM ship GROUP BY harbour_id",
    "SELECT harbour_id, count(*) FROM ship WHERE harbour_id = weight / 4",
    "SELECT harbour_id, count(*) FROM ship WHERE weight / 4 = harbour_id",
    "SELECT *, count(*) FROM ship GROUP BY harbour_id",
    "SELECT *, count(*) FROM (SELECT name, harbour_id FROM ship) GROUP BY harbour_id",
    "SELECT T1.*, max(T1.weight), min(weight) FROM ship AS T1 GROUP BY T1.harbour_id",
    "SELECT T2.name FROM harbour AS T1 JOIN ship AS T2 ON T1.id = T2.harbour_id GROUP BY T1.id",
    "SELECT T2.name FROM harbour T1 JOIN ship T2 ON T1.id = T2.harbour_id GROUP BY T1.id LIMIT 9",
    "SELECT harbour_id FROM ship GROUP BY harbour_id HAVING weight > 8 OR name = 'Tern'",
    "SELECT count(*) FROM ship GROUP BY harbour_id HAVING name = 'Tern'",
    "SELECT harbour_id FROM ship GROUP BY 1 ORDER BY name = 'Sun' DESC, harbour_id DESC LIMIT 1",
    "SELECT name, max(weight) FROM ship",  # two ships of the greatest weight
    "SELECT name, max(weight) FROM ship GROUP BY harbour_id",  # Sun and Tern
    "SELECT name, min(weight), max(weight) FROM ship WHERE harbour_id = 1",
    "SELECT name, max(DISTINCT weight) FROM ship",
    "SELECT ship_id, age FROM crew GROUP BY ship_id",  # 30 or NULL
    "SELECT x FROM (SELECT name AS x, count(*) FROM ship GROUP BY harbour_id)",
    "SELECT sum(id) FROM ship WHERE name IN (SELECT name FROM ship GROUP BY harbour_id)",
    "WITH c AS (SELECT name AS x FROM ship GROUP BY harbour_id) SELECT x FROM c",
    "SELECT name FROM harbour UNION SELECT name FROM ship GROUP BY harbour_id",
    "SELECT lower(name) || 's' FROM ship GROUP BY harbour_id",
    "SELECT substr(built, 6) FROM ship GROUP BY substr(built, 1, 4)",
]

HOLD = [
    # one row, whatever it is sorted by
    "SELECT max(weight) FROM ship ORDER BY name LIMIT 1",
    "SELECT sum(weight), min(built) FROM ship ORDER BY name, id",
    # determined by the schema
    "SELECT name, count(*) FROM ship GROUP BY id",
    "SELECT name, count(*) FROM berth GROUP BY id",  # a key, whatever is missing in it
    "SELECT name, count(*) FROM ship GROUP BY name",
    "SELECT NAME, count(*) FROM ship GROUP BY Ship.name",
    "SELECT name AS n, count(*) FROM ship GROUP BY n",
    "SELECT name, count(*) FROM ship GROUP BY 1",
    "SELECT T1.name, T1.country FROM harbour T1 JOIN ship T2 ON T1.id = T2.harbour_id"
    " GROUP BY T2.harbour_id",
    "SELECT country, id FROM harbour GROUP BY name",
    "SELECT T1.country FROM harbour T1, ship T2 WHERE T1.id = T2.harbour_id GROUP BY T1.name",
    "SELECT harbour_id, count(*) FROM ship WHERE harbour_id = 1",
    "SELECT b.number FROM ship a JOIN berth b ON a.id = b.number GROUP BY a.id",  # '1' and '01'
    "SELECT substr(built, 1, 4) FROM ship GROUP BY substr(built, 1, 4)",
    # determined by the data
    "SELECT name, count(*) FROM ship WHERE harbour_id = 3 GROUP BY weight",
    "SELECT substr(ship.built, 1, 4) FROM ship GROUP BY substr(built, 1, 4)",
    "SELECT name, count(*) FROM ship WHERE id = 4",
    "SELECT rank FROM crew WHERE ship_id = 2 GROUP BY ship_id",
    # not in the answer
    "SELECT name FROM ship GROUP BY harbour_id HAVING count(*) = 1",
    "SELECT count(*) FROM (SELECT name FROM ship GROUP BY harbour_id)",
    "SELECT name FROM ship GROUP BY harbour_id HAVING harbour_id > 1",
    "SELECT count(*) FROM ship ORDER BY name",
    "SELECT name, max(weight) FROM ship HAVING count(*) > 99",
    # the row that has the extreme
    "SELECT name, max(id) FROM ship",
    "SELECT name, min(built), count(*) FROM ship WHERE harbour_id <> 2",
    "SELECT name, max(weight) FROM ship WHERE id <> 3",
    "SELECT name, max(weight) FROM ship GROUP BY harbour_id HAVING harbour_id > 1",
    # no group at all
    "SELECT name FROM ship",
    "SELECT name, max(weight, id) FROM ship",
    "SELECT name, count(*) OVER (PARTITION BY harbour_id) FROM ship",
    "SELECT name, count(*) FILTER (WHERE weight > 8) OVER () FROM ship",
    "SELECT name, (SELECT count(*) FROM crew) FROM ship",
    "SELECT (SELECT max(age) + s.id FROM crew) FROM ship s",
    "SELECT 'name', \"count\", count(*) FROM ship GROUP BY harbour_id",
    "SELECT count(name), max(name), harbour_id FROM ship GROUP BY harbour_id",
    "SELECT count(*) FROM ship",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("bare"), WORLD) as world:
        yield world


@pytest.mark.parametrize("sql", FIRE)
def test_bare_column_is_found(world, sql):
    assert world.find(find_bare_column, sql) is not None


@pytest.mark.parametrize("sql", HOLD)
def test_settled_column_is_left_alone(world, sql):
    assert world.find(find_bare_column, sql) is None


@pytest.mark.parametrize(
    ("sql", "is_found"),
    [
        ("SELECT harbour_id FROM ship GROUP BY 1 ORDER BY name = 'Sun', 1", True),
        ("SELECT harbour_id FROM ship GROUP BY 1 ORDER BY name = 'Sun'", False),  # has ties
        ("SELECT harbour_id FROM ship GROUP BY harbour_id ORDER BY max(name)", False),
        ("SELECT harbour_id FROM ship GROUP BY harbour_id ORDER BY harbour_id, name", False),
    ],
)
def test_bare_column_may_sort_rows_only_where_their_order_is_no_part_of_the_answer(
    world, sql, is_found
):
    assert (world.find(find_bare_column, sql) is not None) is is_found


def test_evidence_shows_a_group_of_the_answer_and_its_values(world):
    sql = "SELECT harbour_id, name FROM ship GROUP BY harbour_id HAVING count(*) > 1"
    assert world.find(find_bare_column, sql).evidence == {
        "column": "name",
        "group_by": ["harbour_id"],
        "group": [1],
        "distinct_values": 2,
        "values": ["Sun", "Tern"],
        "row_picked_by": None,
    }


def test_evidence_names_the_extreme_that_picks_the_row(world):
    evidence = world.find(find_bare_column, "SELECT name, max(weight) FROM ship").evidence
    assert evidence["row_picked_by"] == "MAX(weight)"
    assert evidence["values"] == ["Ull", "Vik"]


def test_null_among_values_is_a_value(world):
    evidence = world.find(find_bare_column, "SELECT ship_id, age FROM crew GROUP BY 1").evidence
    assert (evidence["distinct_values"], evidence["values"]) == (2, [None, 30])
