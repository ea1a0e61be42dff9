"""Which columns a query reads."""

from __future__ import annotations

import sqlite3

import pytest
import sqlglot

from answerkey.sql.parsed_query import list_columns
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import read_schema

SCHEMA = """
CREATE TABLE Ship (id INTEGER PRIMARY KEY, Name TEXT, tons REAL);
CREATE TABLE port (code TEXT, city TEXT);
"""
CASES = [
    ("SELECT name FROM ship", ["Ship.Name"]),
    ("SELECT T1.name FROM ship AS T1 WHERE T1.TONS > 9", ["Ship.Name", "Ship.tons"]),
    ("SELECT * FROM port", ["port.city", "port.code"]),
    ("SELECT count(*) FROM ship", []),
    ('SELECT name FROM ship WHERE name = "Sun"', ["Ship.Name"]),
    ("WITH c AS (SELECT city AS name FROM port) SELECT name FROM c", ["port.city"]),
    (
        "SELECT 1 FROM ship WHERE EXISTS (SELECT 1 FROM port WHERE code = name)",
        ["Ship.Name", "port.code"],
    ),
]


@pytest.mark.parametrize(("sql", "columns"), CASES)
def test_columns_are_those_of_base_tables(sql: str, columns: list[str]) -> None:
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    schema = read_schema(connection)
    connection.close()
    assert list_columns(Scopes(sqlglot.parse_one(sql, read="sqlite"), schema)) == columns
