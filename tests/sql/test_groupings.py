"""Groupings: columns that have one value where others have, and those that GROUP BY leaves open."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.groupings import list_determined, read_grouping
from answerkey.sql.query_tree import parse_sql, to_sql
from answerkey.sql.scopes import Scopes

WORLD = """
CREATE TABLE port (id INTEGER PRIMARY KEY, town TEXT);
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, home INT REFERENCES port);
"""


def read_scopes(sql: str) -> Scopes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        connection.execute(sql)  # a case that SQLite refuses proves nothing
        return Scopes(parse_sql(sql), read_schema(connection))


SHIP, PORT = ["ship.home", "ship.id", "ship.name"], ["port.id", "port.town"]
DETERMINED = [
    # what a key determines, and what is equal to a key
    ("ship", "ship.id", SHIP),
    ("ship", "ship.name", ["ship.name"]),
    ("ship JOIN port ON home = port.id", "ship.id", PORT + SHIP),
    ("ship JOIN port ON home = port.id", "port.id", [*PORT, "ship.home"]),
    ("ship JOIN port USING (id)", "ship.id", PORT + SHIP),
    # a constant determines, whatever is given
    ("ship, port WHERE home = port.id AND ship.id = 1", "port.town", PORT + SHIP),
    ("ship WHERE home = (SELECT min(id) FROM port)", "ship.name", ["ship.home", "ship.name"]),
    ("ship WHERE home = id", "ship.name", ["ship.name"]),  # another one in each row
    ("ship, port WHERE home = port.id OR ship.id = 1", "ship.name", ["ship.name"]),
    # an outer join fills up one side with NULL: what its ON says does not hold for each row
    ("ship LEFT JOIN port ON home = port.id", "ship.id", SHIP),
    ("ship RIGHT JOIN port ON home = port.id", "ship.id", SHIP),
    ("ship LEFT JOIN port ON 1 WHERE home = port.id", "ship.id", PORT + SHIP),
]


@pytest.mark.parametrize(("joined", "given", "expected"), DETERMINED)
def test_columns_that_have_one_value_where_another_has(joined, given, expected):
    scopes = read_scopes(f"SELECT 1 FROM {joined}")
    sources = {source.name: source for source in scopes.scope_of(scopes.tree).sources.values()}
    member, name = given.split(".")
    places = list_determined([(sources[member], name)], scopes.tree, scopes)
    assert sorted(f"{source.name}.{column}" for source, column in places) == expected


GROUPS = [
    ("SELECT name, count(*) FROM ship GROUP BY home", ["home"], ["name"]),
    ("SELECT name, count(*) FROM ship GROUP BY id", ["id"], []),
    ("SELECT town, count(*) FROM ship JOIN port ON home = port.id GROUP BY home", ["home"], []),
    ("SELECT name AS n, count(*) FROM ship GROUP BY 1", ["name"], []),  # by a number
    ("SELECT upper(name), count(*) FROM ship GROUP BY upper(name)", ["UPPER(name)"], []),
    ("SELECT home, count(*) FROM ship GROUP BY 1 HAVING name > 'a'", ["home"], ["name"]),
    ("SELECT name, max(id) FROM ship", [], ["name"]),
    ("SELECT max(id) FROM ship ORDER BY name", [], []),  # of one row, ORDER BY says nothing
    ("SELECT *, count(*) FROM ship GROUP BY home", ["home"], ["*"]),
    ("SELECT *, count(*) FROM ship GROUP BY id", ["id"], []),
]


@pytest.mark.parametrize(("sql", "keys", "bare"), GROUPS)
def test_grouping_has_its_keys_and_what_they_leave_open(sql, keys, bare):
    scopes = read_scopes(sql)
    grouping = read_grouping(scopes.tree, scopes)
    assert [to_sql(key) for key in grouping.keys] == keys
    assert [to_sql(column) for column in grouping.bare] == bare


@pytest.mark.parametrize(
    "sql", ["SELECT name FROM ship", "SELECT count(*)", "SELECT max(id, home) FROM ship"]
)
def test_query_that_groups_nothing_has_no_grouping(sql):
    scopes = read_scopes(sql)
    assert read_grouping(scopes.tree, scopes) is None
