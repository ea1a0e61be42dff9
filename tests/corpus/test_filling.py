"""Filled databases: more rows under the same rules, and answers where there were none."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.corpus.filling import fill_database
from tests.shared.databases import make_database
from tests.shared.project_world import HARBOUR
from tests.shared.synsql_world import CLINICS, ROWS

QUERIES = [row["sql"] for row in ROWS]
TABLES = ("clinics", "doctors", "visits")


def fill(folder: Path, sql: str, queries: list[str], rows: int = 20) -> Path | None:
    content = fill_database(make_database(folder / "few.sqlite", sql), queries, rows=rows)
    if content is None:
        return None
    path = folder / "filled.sqlite"
    path.write_bytes(content)
    return path


def ask(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_rows_are_added_and_rules_hold(tmp_path: Path) -> None:
    path = fill(tmp_path, CLINICS, QUERIES)
    source = tmp_path / "few.sqlite"
    schema = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"
    assert ask(path, schema) == ask(source, schema)
    for table in TABLES:
        rows = ask(source, f"SELECT * FROM {table}")
        assert ask(path, f"SELECT * FROM {table}")[: len(rows)] == rows
    counts = [ask(path, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES]
    assert min(counts[:2]) >= 20
    assert counts[2] >= 5  # a CHECK refuses what nobody knows to be a status
    assert ask(path, "PRAGMA foreign_key_check") == []
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
    (distinct,) = ask(
        path, "SELECT count(DISTINCT salary), count(DISTINCT doctor_name) FROM doctors"
    )
    assert min(distinct) >= 19


def test_queries_have_answers(tmp_path: Path) -> None:
    path = fill(tmp_path, CLINICS, QUERIES)
    empty = [ask(tmp_path / "few.sqlite", sql) in ([], [(0,)]) for sql in QUERIES]
    assert empty == [False, True, True, True]
    assert [ask(path, sql) in ([], [(0,)]) for sql in QUERIES] == [False] * 4


def test_same_bytes_every_time_and_others_for_other_queries(tmp_path: Path) -> None:
    first = fill(tmp_path, CLINICS, QUERIES).read_bytes()
    assert fill(tmp_path, CLINICS, QUERIES).read_bytes() == first
    assert fill(tmp_path, CLINICS, QUERIES[:1]).read_bytes() != first
    broken = [*QUERIES, "SELECT", "DROP TABLE visits", "SELECT x FROM y WHERE z = 1"]
    assert fill(tmp_path, CLINICS, broken).read_bytes() == first


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (HARBOUR, 3),  # all tables have so many
        ("CREATE TABLE t (a); CREATE VIRTUAL TABLE v USING fts5(b);", 20),
        (
            "CREATE TABLE e (a); CREATE TABLE t (a); INSERT INTO t SELECT value FROM"
            " json_each('[' || substr(replace(hex(zeroblob(1001)), '00', ',1'), 2) || ']');",
            20,
        ),
    ],
    ids=["enough rows", "virtual table", "large table"],
)
def test_database_that_needs_none_or_cannot_be_copied_stays(
    tmp_path: Path, sql: str, rows: int
) -> None:
    assert fill(tmp_path, sql, [], rows) is None


def test_row_that_breaks_its_own_check_is_not_lost(tmp_path: Path) -> None:
    sql = "PRAGMA ignore_check_constraints = 1; CREATE TABLE t (a INTEGER CHECK (a > 5));"
    assert fill(tmp_path, f"{sql} INSERT INTO t VALUES (1);", []) is None
    assert fill(tmp_path, f"{sql} INSERT INTO t VALUES (7);", []) is not None


def test_empty_tables_get_rows_of_every_kind(tmp_path: Path) -> None:
    sql = """
    CREATE TABLE league (league_id INTEGER PRIMARY KEY, title TEXT UNIQUE, founded_year INTEGER,
        is_open BOOLEAN, started DATE, budget REAL NOT NULL, twice REAL AS (2 * budget));
    CREATE TABLE member (league_id INTEGER REFERENCES league, player_id INTEGER,
        PRIMARY KEY (league_id, player_id)) WITHOUT ROWID;
    CREATE VIEW rich AS SELECT title FROM league WHERE budget > 50;
    """
    path = fill(tmp_path, sql, ["SELECT title FROM league WHERE founded_year < 1950"])
    assert ask(path, "SELECT count(*) > 0 FROM rich") == [(1,)]
    assert ask(path, "SELECT count(*) FROM league WHERE founded_year < 1950") == [(5,)]
    assert ask(
        path, "SELECT count(*) >= 20, max(is_open), count(DISTINCT title) = count(*) FROM league"
    ) == [(1, 1, 1)]
    assert ask(path, "SELECT count(*) >= 15, count(DISTINCT league_id) > 5 FROM member") == [(1, 1)]


@pytest.mark.parametrize("kind", ["INT", "INTEGER", "decimal(10,2)", "REAL", "TEXT", ""])
@pytest.mark.parametrize(
    "values",
    [
        "1, 2.5, 3.25",
        "0.5, 1, 2",
        "1e300, 1, -1e300",
        "9e999, -9e999, 1",
        "9223372036854775807, -9223372036854775808, 1",
        "1e20, 2e20, 7",
        "'none', 1, 2.5",
        "'2020-01-01', 3, NULL",
        "x'00ff', 1, 2",
        "0, 1, 0.5",
    ],
)
def test_column_holds_numbers_and_texts_whatever_its_type_says(
    tmp_path: Path, kind: str, values: str
) -> None:
    rows = ", ".join(f"({value})" for value in values.split(", "))
    sql = f"CREATE TABLE t (id INTEGER PRIMARY KEY, price {kind});"
    sql += f" INSERT INTO t (price) VALUES {rows}"
    path = fill(
        tmp_path, sql, ["SELECT id FROM t WHERE price < 5", "SELECT id FROM t WHERE price > 1e19"]
    )
    assert path is not None
    assert ask(path, "SELECT count(*) FROM t")[0][0] >= 20
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


def test_file_that_is_no_database_is_not_filled(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"SQLite format 3\0 and no more")
    assert fill_database(tmp_path / "a.sqlite", [], rows=20) is None


@pytest.mark.parametrize(
    "day",
    [
        "0001-01-01",
        "0001-12-31 23:59:59",
        "0000-00-00",
        "9999-12-31",
        "9999-12-31 00:00:00.000",
        "23:59:59",
        "-0044-03-15",
    ],
)
def test_dates_at_the_edge_of_the_calendar_are_filled(tmp_path: Path, day: str) -> None:
    sql = "CREATE TABLE lease (id INTEGER PRIMARY KEY, tenant TEXT, ended DATETIME);"
    sql += f"INSERT INTO lease VALUES (1, 'Ada', '{day}'), (2, 'Bo', '2021-06-30');"
    queries = [f"SELECT tenant FROM lease WHERE ended {test} '{day}'" for test in ("=", ">", "<")]
    path = fill(tmp_path, sql, queries)
    assert path is not None
    days = [each for (each,) in ask(path, "SELECT ended FROM lease ORDER BY id")]
    assert days[:2] == [day, "2021-06-30"]
    assert len(days) >= 20
