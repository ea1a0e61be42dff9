"""Coverage of the schemas by the selected questions."""

from __future__ import annotations

import sqlite3

import pandas as pd

from answerkey.selection.supply import measure_coverage
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


def measure(*questions: tuple[str, list[str], list[str]]) -> dict[str, int]:
    columns = ["database_name", "tables_involved", "columns_involved"]
    schemas = dict.fromkeys(("a", "b", "unused"), make_schema())
    return measure_coverage(pd.DataFrame(questions, columns=columns, dtype=object), schemas)


def test_tables_and_columns_count_once_and_views_do_not() -> None:
    first = ("a", ["heavy", "ship"], ["heavy.name", "ship.name", "ship.tons"])
    expected = {"tables": 2, "tables_touched": 1, "columns": 5, "columns_touched": 2}
    assert measure(first, ("a", ["ship"], ["ship.name"])) == expected


def test_databases_add_up() -> None:
    expected = {"tables": 4, "tables_touched": 3, "columns": 10, "columns_touched": 2}
    found = measure(("a", ["ship"], ["ship.name"]), ("b", ["port", "ship"], ["port.city"]))
    assert found == expected


def test_no_questions_cover_nothing() -> None:
    assert set(measure().values()) == {0}
