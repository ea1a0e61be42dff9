"""Conditions: terms, comparisons with values, and the columns that they make equal."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.conditions import (
    is_join_condition,
    join_parts,
    list_comparisons,
    list_conditions,
    list_equalities,
    list_leaves,
    list_parts,
)
from answerkey.sql.query_tree import parse_sql, to_sql
from answerkey.sql.scopes import Scopes

WORLD = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, home INT REFERENCES port, crew INT);
"""


def read_scopes(sql: str) -> Scopes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        connection.execute(sql)  # a case that SQLite refuses proves nothing
        return Scopes(parse_sql(sql), read_schema(connection))


@pytest.mark.parametrize(
    ("sql", "terms"),
    [
        ("SELECT 1 FROM ship WHERE crew > 1 AND (name = 'a' AND home = 2)",
         ["crew > 1", "name = 'a'", "home = 2"]),
        ("SELECT 1 FROM ship WHERE crew > 1 OR home = 2", ["crew > 1 OR home = 2"]),
        ("SELECT 1 FROM ship JOIN port ON home = port.id WHERE crew > 1",
         ["home = port.id", "crew > 1"]),
        ("SELECT 1 FROM ship", []),
    ],
)  # fmt: skip
def test_conditions_are_the_terms_that_and_joins(sql, terms):
    scopes = read_scopes(sql)
    assert [to_sql(term) for term in list_conditions(scopes.tree, scopes)] == terms


def test_parts_keep_their_parentheses_and_leaves_do_not():
    condition = parse_sql("SELECT 1 WHERE a AND (b OR c) AND NOT d").args["where"].this
    parts = list_parts(condition, type(condition))
    assert [to_sql(part) for part in parts] == ["a", "(b OR c)", "NOT d"]
    assert to_sql(join_parts(type(condition), parts)) == to_sql(condition)
    assert [to_sql(leaf) for leaf in list_leaves(condition)] == ["a", "b", "c", "NOT d"]


@pytest.mark.parametrize(
    ("condition", "is_of_a_join"),
    [
        ("ship.home = port.id", True),
        ("ship.crew > port.id AND 1", True),
        ("ship.crew > 1", False),
        # of another FROM, whose column is one side of it
        ("ship.id IN (SELECT p.id FROM port AS p)", False),
    ],
)
def test_condition_of_a_join_is_about_two_members_of_one_from(condition, is_of_a_join):
    scopes = read_scopes(f"SELECT 1 FROM ship, port WHERE {condition}")
    assert is_join_condition(scopes.tree.args["where"].this, scopes) is is_of_a_join


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("5 < crew", [("crew", ">", "5")]),  # the literal on the right
        ("crew = -5", [("crew", "=", "-5")]),
        ("crew BETWEEN 1 AND 3", [("crew", ">=", "1"), ("crew", "<=", "3")]),
        ("crew NOT IN (1, 2)", [("crew", "=", "1"), ("crew", "=", "2")]),  # the values that meet
        ('name = "Sun"', [("name", "=", '"Sun"')]),  # a string, since no column has that name
        ('"Sun" = name', [("name", "=", '"Sun"')]),
        ("'Sun' LIKE name", [("'Sun'", "LIKE", "name")]),  # whose sides mean other things
        ("home = crew", [("home", "=", "crew")]),
    ],
)
def test_comparison_has_its_literal_on_the_right(condition, expected):
    compared = list_comparisons(read_scopes(f"SELECT 1 FROM ship WHERE {condition}"))
    assert [(to_sql(c.left), c.operator, to_sql(c.right)) for c in compared] == expected


@pytest.mark.parametrize(
    ("joined", "pairs"),
    [
        ("ship, port WHERE home = port.id", [("ship.home", "port.id")]),
        ("ship LEFT JOIN port ON port.id = home", [("port.id", "ship.home")]),
        ("ship JOIN port USING (id)", [("ship.id", "port.id")]),
        ("ship NATURAL JOIN port", [("ship.id", "port.id"), ("ship.name", "port.name")]),
        ("ship AS a JOIN ship AS b ON a.id = b.home", [("a.id", "b.home")]),
        ("ship, port WHERE home = port.id OR crew = 1", []),  # not of each row
        ("ship WHERE home = crew", []),  # of one member
        ("ship, port WHERE home = port.id + 1", []),
    ],
)
def test_equalities_are_of_columns_of_two_members_of_from(joined, pairs):
    scopes = read_scopes(f"SELECT 1 FROM {joined}")
    equalities = list_equalities(scopes.tree, scopes)
    assert sorted(pairs) == sorted(
        (f"{left.name}.{name}", f"{right.name}.{other}")
        for (left, name), (right, other) in equalities
    )
