"""Columns that a group leaves open, and those that a key, a constant or the data settle."""

import pytest

from answerkey.probes.order import find_bare_column
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
    "SELECT name, 2 * sum(weight) FROM ship",
    "SELECT name, count(*) FILTER (WHERE weight > 8) FROM ship GROUP BY harbour_id",
    "SELECT harbour_id, count(*) FROM ship WHERE harbour_id = weight / 4",
    "SELECT *, count(*) FROM (SELECT name, harbour_id FROM ship) GROUP BY harbour_id",
    "SELECT T1.*, max(T1.weight), min(weight) FROM ship AS T1 GROUP BY T1.harbour_id",
    "SELECT count(*) FROM ship GROUP BY harbour_id HAVING name = 'Tern'",
    "SELECT harbour_id FROM ship GROUP BY 1 ORDER BY name = 'Sun' DESC, harbour_id DESC LIMIT 1",
    "SELECT name, max(weight) FROM ship GROUP BY harbour_id",  # Sun and Tern
    "SELECT ship_id, age FROM crew GROUP BY ship_id",  # 30 or NULL
    "WITH c AS (SELECT name AS x FROM ship GROUP BY harbour_id) SELECT x FROM c",
    "SELECT name FROM harbour UNION SELECT name FROM ship GROUP BY harbour_id",
    "SELECT substr(built, 6) FROM ship GROUP BY substr(built, 1, 4)",
]

HOLD = [
    "SELECT max(weight) FROM ship ORDER BY name LIMIT 1",  # one row, whatever it is sorted by
    # determined by the schema
    "SELECT name, count(*) FROM berth GROUP BY id",  # a key, whatever is missing in it
    "SELECT NAME, count(*) FROM ship GROUP BY Ship.name",
    "SELECT name AS n, count(*) FROM ship GROUP BY n",
    "SELECT T1.name, T1.country FROM harbour T1 JOIN ship T2 ON T1.id = T2.harbour_id"
    " GROUP BY T2.harbour_id",
    "SELECT country, id FROM harbour GROUP BY name",
    "SELECT harbour_id, count(*) FROM ship WHERE harbour_id = 1",
    "SELECT substr(built, 1, 4) FROM ship GROUP BY substr(built, 1, 4)",
    # determined by the data
    "SELECT name, count(*) FROM ship WHERE harbour_id = 3 GROUP BY weight",
    # not in the answer
    "SELECT count(*) FROM (SELECT name FROM ship GROUP BY harbour_id)",
    # the row that has the extreme
    "SELECT name, max(weight) FROM ship WHERE id <> 3",
    # no group at all
    "SELECT name FROM ship",
    "SELECT name, max(weight, id) FROM ship",
    "SELECT name, count(*) OVER (PARTITION BY harbour_id) FROM ship",
    "SELECT (SELECT max(age) + s.id FROM crew) FROM ship s",
    "SELECT 'name', \"count\", count(*) FROM ship GROUP BY harbour_id",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("bare"), WORLD) as world, world.copied():
        yield world


@pytest.mark.parametrize("sql", FIRE)
def test_bare_column_is_found(world, sql):
    assert world.find(find_bare_column, sql) is not None


@pytest.mark.parametrize("sql", HOLD)
def test_settled_column_is_left_alone(world, sql):
    assert world.find(find_bare_column, sql) is None


def test_evidence_names_the_column_and_the_keys(world):
    sql = "SELECT harbour_id, name FROM ship GROUP BY harbour_id"
    evidence = {"column": "name", "group_by": ["harbour_id"]}
    assert world.find(find_bare_column, sql).evidence == evidence
