"""What columns hold, in words."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.report.columns import TableSummary, summarize_table

_SHIPS = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, flag TEXT, weight, "of which" TEXT, log BLOB, note);
INSERT INTO ship
  SELECT value, 'N' || char(10) || 'O', value * 1.5, printf('%d', value), x'00ff', NULL
  FROM generate_numbers;
UPDATE ship SET flag = 'US' WHERE id < 9;
UPDATE ship SET flag = NULL WHERE id = 9;
"""


def summarize(tmp_path: Path, statements: str, *, max_steps: int | None = None) -> TableSummary:
    path = tmp_path / "fleet.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(statements)
    with closing(open_database(path)) as connection:
        table = read_schema(connection).tables[-1]
    with GuardedDatabase(path) as database:
        return summarize_table(database, table, max_steps=max_steps)


def test_columns_are_told_by_types_counts_and_values(tmp_path):
    numbers = (
        "CREATE TABLE generate_numbers AS WITH RECURSIVE n(value) AS"
        " (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 12) SELECT value FROM n;"
    )
    summary = summarize(tmp_path, numbers + _SHIPS)
    assert summary["rows"] == "12 rows"
    assert dict(summary["columns"]) == {
        "id": "integer, 12 different, from 1 to 12",
        "flag": "text, 2 different, 1 NULL, 'US', 'N O'",
        "weight": "real, 12 different, from 1.5 to 18.0",
        "of which": "text, 12 different, such as '1', '10', '11', '12', '2', '3'",
        "log": "blob, 1 different, <2 bytes>",
        "note": "no value, 0 different, 12 NULL",
    }


def test_column_that_takes_long_is_not_counted(tmp_path):
    many = (
        "CREATE TABLE t AS WITH RECURSIVE n(value) AS"
        " (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 5000) SELECT value FROM n;"
    )
    summary = summarize(tmp_path, many, max_steps=1000)
    assert dict(summary["columns"]) == {"value": "not counted (step_budget_exceeded)"}


def test_view_that_fails_is_told(tmp_path):
    summary = summarize(tmp_path, "CREATE VIEW v AS SELECT x FROM gone;")
    assert summary["rows"] == "not counted (sql_error)"
