"""constants: what queries compare columns with, and what meets and misses each comparison."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import read_schema
from answerkey.suites.constants import list_conditions, list_constants


def read_scopes(condition: str) -> Scopes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE ship (name TEXT, flag TEXT, tons INT)")
        schema = read_schema(connection)
    return Scopes(parse_sql(f"SELECT name FROM ship WHERE {condition}"), schema)


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
    tables, conditions = list_conditions(read_scopes(condition))
    assert tables == ("ship",)
    assert conditions == (("ship", "tons", meets, misses),)
