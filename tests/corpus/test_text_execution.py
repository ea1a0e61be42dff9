"""Databases of foreign SQL text: each ends within its bounds, and is the same in each build."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from answerkey.corpus.text_databases import BuildLimits, build_database
from answerkey.errors import InputError

TABLE = "CREATE TABLE t (a, b);"
ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def write(tmp_path: Path, text: str, name: str = "shop") -> Path:
    path = tmp_path / name / "schema.sql"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


def build(tmp_path: Path, text: str, **limits: int) -> bytes:
    """The database of a text; the second build has the same bytes."""
    path = write(tmp_path, text)
    content = build_database(path, BuildLimits(**limits))
    assert build_database(path, BuildLimits(**limits)) == content
    return content


def read(content: bytes, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        (
            f"{TABLE} INSERT INTO t {ENDLESS} SELECT x, x FROM n WHERE x < 0;",
            {"max_steps": 1_000_000},
            "more than 1000000 virtual machine steps",
        ),
        (
            f"{TABLE} {'INSERT INTO t VALUES (1, 2);' * 1000}",
            {"max_steps": 2000},
            "more than 2000 virtual machine steps",
        ),
        (
            f"{TABLE} INSERT INTO t {ENDLESS} SELECT x, x FROM n WHERE x < 0;",
            {"max_steps": 10**15, "max_seconds": 1},
            "more than 1 seconds",
        ),
        (
            f"{TABLE} INSERT INTO t {ENDLESS} SELECT x, 'and more' FROM n;",
            {"max_database_bytes": 1_000_000},
            "more than 1000000 bytes",
        ),
        (f"{TABLE} INSERT INTO t VALUES (zeroblob(1000000000), 1);", {}, "too big"),
        (f"{TABLE} INSERT INTO t VALUES (1, 2);", {"max_text_bytes": 20}, "expected 20 at most"),
        (
            f"{TABLE} CREATE INDEX i ON t (a); INSERT INTO t {ENDLESS} SELECT x, x FROM n;",
            {"max_steps": 100_000},
            "at or after: INSERT INTO t WITH",
        ),
    ],
)
def test_text_that_takes_too_much_is_refused(tmp_path, text, limits, words) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        build_database(path, BuildLimits(**limits))
    assert str(caught.value).startswith(f"{path}: ")


def test_bounds_also_hold_while_the_file_is_settled(tmp_path) -> None:
    rows = f"INSERT INTO t {ENDLESS} SELECT x, x FROM n LIMIT 1000;"
    table = "CREATE TABLE t (a REAL, b REAL); CREATE TABLE u (a REAL);"
    path = write(tmp_path, f"{table} {rows}")
    low, high = 1, 1024
    while high - low > 1:
        middle = (low + high) // 2
        try:
            build_database(path, BuildLimits(max_steps=middle * 1000))
            high = middle
        except InputError:
            low = middle
    with pytest.raises(InputError, match="at or after: its end"):
        build_database(path, BuildLimits(max_steps=low * 1000))


CHANGING = [
    *("random()", "randomblob(4)", "abs(random())", "sqlite_version()", "sqlite_source_id()"),
    *("CURRENT_TIMESTAMP", "current_date", "date('now')", "date('n' || 'ow')", "date()"),
    *(
        "datetime(CAST(x'6e6f77' AS TEXT))",
        "datetime('2020-01-01', 'localtime')",
        "time(x'4e4f57')",
    ),
    *("strftime('%Y')", "strftime('%Y', '2020-01-01', 'utc')", "julianday(' NOW ')"),
]


@pytest.mark.parametrize("expression", CHANGING)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a); INSERT INTO t VALUES ({});",
        "CREATE TABLE t (a, b DEFAULT ({})); INSERT INTO t (a) VALUES (1);",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1); UPDATE t SET a = {};",
        "CREATE TABLE t (a); CREATE VIEW v AS SELECT {} AS x; INSERT INTO t SELECT x FROM v;",
    ],
)
def test_value_of_chance_or_of_the_moment_is_refused(tmp_path, text, expression) -> None:
    path = write(tmp_path, text.format(expression))
    with pytest.raises(InputError, match="would give something else in each build") as caught:
        build_database(path)
    assert str(caught.value).startswith(f"{path}: function ")


def test_word_of_a_column_that_reads_the_clock_is_refused(tmp_path) -> None:
    text = "CREATE TABLE t (a, b); INSERT INTO t VALUES ('now', 1); UPDATE t SET b = date(a);"
    with pytest.raises(InputError, match="function date is not allowed"):
        build_database(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "sql", "rows"),
    [
        (
            f"{TABLE} INSERT INTO t VALUES (date('2020-01-31', '+1 month'), time(0.25));",
            "SELECT a, b FROM t",
            [("2020-03-02", "18:00:00")],
        ),
        (
            "CREATE TABLE t (a DEFAULT CURRENT_TIMESTAMP, b DEFAULT (random()));"
            " INSERT INTO t VALUES ('2020', 7);",
            "SELECT a, b FROM t",
            [("2020", 7)],
        ),
        (
            f"{TABLE} CREATE VIEW age AS SELECT date('now') - a AS b FROM t;"
            " CREATE INDEX i ON t (date(a)); INSERT INTO t VALUES ('1990-01-01', 'now');",
            "SELECT a FROM t INDEXED BY i WHERE date(a) = '1990-01-01'",
            [("1990-01-01",)],
        ),
        (
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b REFERENCES t);"
            " INSERT INTO t VALUES (5, NULL); INSERT INTO t VALUES (6, last_insert_rowid());",
            "SELECT b FROM t ORDER BY a",
            [(None,), (5,)],
        ),
        (
            "CREATE TABLE t (a CHECK (date(a) IS NOT NULL), b AS (date(a, '+1 day')) STORED);"
            " INSERT INTO t VALUES ('2020-12-31');",
            "SELECT b FROM t",
            [("2021-01-01",)],
        ),
    ],
)  # fmt: skip
def test_honest_text_is_built(tmp_path, text, sql, rows) -> None:
    assert read(build(tmp_path, text), sql) == rows


def test_dump_of_sqlite_is_built(tmp_path) -> None:
    dump = """PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE child (parent REFERENCES parent (id), word TEXT);
INSERT INTO child VALUES(3,'BEGIN');
CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
INSERT INTO parent VALUES(3,'it''s; COMMIT');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('parent',9);
CREATE INDEX i ON child (word);
COMMIT;
"""
    content = build(tmp_path, dump)
    assert read(content, "SELECT name, word FROM parent JOIN child ON parent = id") == [
        ("it's; COMMIT", "BEGIN")
    ]
    assert read(content, "SELECT seq FROM sqlite_sequence") == [(9,)]
    plain = "\n".join(
        line for line in dump.splitlines() if line[:6] not in ("PRAGMA", "BEGIN ", "COMMIT")
    )
    assert build_database(write(tmp_path, plain, name="plain")) == content


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT name, file FROM pragma_database_list;",
        "INSERT INTO t SELECT compile_options, 1 FROM pragma_compile_options;",
        "INSERT INTO sqlite_master VALUES ('table', 'u', 'u', 2, 'CREATE TABLE u (a)');",
        "PRAGMA temp_store_directory = '/';",
        "PRAGMA max_page_count = 1000000000;",
        "CREATE TEMP TABLE u (a);",
        "COMMIT; VACUUM INTO 'copy.sqlite';",
        "COMMIT; ATTACH 'other.sqlite' AS other;",
        "SELECT fts3_tokenizer('simple');",
        "SELECT writefile('x', 'y');",
    ],
)
def test_text_reaches_nothing_but_its_database(tmp_path, monkeypatch, sql) -> None:
    path = write(tmp_path, f"{TABLE} {sql}")
    monkeypatch.chdir(path.parent)
    with pytest.raises(InputError, match=str(path)):
        build_database(path)
    assert [entry.name for entry in path.parent.iterdir()] == ["schema.sql"]
