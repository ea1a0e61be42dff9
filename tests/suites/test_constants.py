"""constants: what queries compare columns with, and what meets and misses each comparison."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import read_schema
from answerkey.suites.constants import list_conditions, list_constants, list_shared_columns

SHIPS = """
CREATE TABLE port (name TEXT PRIMARY KEY, mayor TEXT);
CREATE TABLE ship (name TEXT, flag TEXT, tons INT, port TEXT REFERENCES port);
"""

TABLES = {"port", "ship"}


def read_query(sql: str) -> Scopes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SHIPS)
        schema = read_schema(connection)
    return Scopes(parse_sql(sql), schema)


def read_scopes(condition: str) -> Scopes:
    return read_query(f"SELECT name FROM ship WHERE {condition}")


def test_text_in_double_quotes_is_a_constant_where_no_column_has_its_name() -> None:
    scopes = read_scopes('flag = "Peru" AND name LIKE "%Sun%" AND flag <> "name"')
    assert list_constants(scopes) == [("ship", "flag", "Peru"), ("ship", "name", "Sun")]


@pytest.mark.parametrize(
    ("condition", "meets", "misses"),
    [
        ("tons > 9", 10, 9),
        ("9 > tons", 8, 9),
        ("tons >= 9", 9, 8),
        ("tons <= 9", 9, 10),
        ("tons = 9", 9, 8),
        ("tons <> 9", 10, 9),
        ("tons = '0'", "0", "1"),
        ("tons BETWEEN 9 AND 20", 9, 8),
    ],
)
def test_conditions_have_what_meets_and_what_misses(condition, meets, misses) -> None:
    [(tables, conditions)] = list_conditions(read_scopes(condition), TABLES)
    assert tables == ("ship",)
    assert conditions == (("ship", "tons", meets, misses),)


def test_conditions_of_each_select_that_a_set_operation_joins() -> None:
    sql = "SELECT name FROM ship WHERE {} INTERSECT SELECT name FROM ship WHERE {}"
    query = read_query(sql.format("tons = 4", "tons = 7 AND flag = 'Peru'"))
    found = list_conditions(query, TABLES)
    assert [[one.meets for one in conditions] for _, conditions in found] == [[4], [7, "Peru"]]
    assert list_conditions(query, {"port"}) == []
    assert (
        list_conditions(read_query("SELECT name FROM ship UNION SELECT name FROM port"), TABLES)
        == []
    )


@pytest.mark.parametrize(
    ("sql", "pairs"),
    [
        ("SELECT flag FROM ship EXCEPT SELECT mayor FROM port", [("ship.flag", "port.mayor")]),
        ("SELECT tons, flag AS f FROM ship INTERSECT SELECT 1, T.mayor FROM port AS T",
         [("ship.flag", "port.mayor")]),
        ("SELECT tons FROM ship WHERE name NOT IN (SELECT mayor FROM port)",
         [("ship.name", "port.mayor")]),
        ("SELECT flag FROM ship WHERE flag IN ('Peru')", []),
        ("SELECT flag FROM ship WHERE tons > 1 INTERSECT SELECT flag FROM ship", []),
        ("SELECT flag FROM ship WHERE flag IN (SELECT name FROM port)", []),
        ("SELECT mayor FROM port WHERE name NOT IN (SELECT port FROM ship)", []),
        ("SELECT port FROM ship EXCEPT SELECT mayor FROM port", []),
        ("SELECT flag FROM ship EXCEPT VALUES ('Peru')", []),
    ],
)  # fmt: skip
def test_columns_that_are_looked_up_in_each_other(sql, pairs) -> None:
    found = list_shared_columns(read_query(sql))
    assert [tuple(".".join(place) for place in pair) for pair in found] == pairs
