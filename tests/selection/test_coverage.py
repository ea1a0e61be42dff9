"""Coverage of the schemas by the selected questions."""

from __future__ import annotations

import sqlite3

from answerkey.selection.coverage import Coverage
from answerkey.sqlite.schema import read_schema

SCHEMA = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tons REAL);
CREATE TABLE port (code TEXT, city TEXT);
CREATE VIEW heavy AS SELECT * FROM ship WHERE tons > 9;
"""


def make_schema():
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(SCHEMA)
        return read_schema(connection)
    finally:
        connection.close()


def test_tables_and_columns_count_once_and_views_do_not() -> None:
    coverage = Coverage({"a": make_schema(), "unused": make_schema()})
    coverage.add("a", ["heavy", "ship"], ["heavy.name", "ship.name", "ship.tons"])
    coverage.add("a", ["ship"], ["ship.name"])
    expected = {"tables": 2, "tables_touched": 1, "columns": 5, "columns_touched": 2}
    assert coverage.measure() == expected


def test_databases_add_up() -> None:
    coverage = Coverage({"a": make_schema(), "b": make_schema()})
    coverage.add("a", ["ship"], ["ship.name"])
    coverage.add("b", ["port", "ship"], ["port.city"])
    expected = {"tables": 4, "tables_touched": 3, "columns": 10, "columns_touched": 2}
    assert coverage.measure() == expected == coverage.measure()


def test_no_questions_cover_nothing() -> None:
    assert set(Coverage({"a": make_schema()}).measure().values()) == {0}
