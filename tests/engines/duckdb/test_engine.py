"""A database of DuckDB is built from its text, described, taken apart, written and filled again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="needs the extra `duckdb`")

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.duckdb.engine import ENGINE
from answerkey.engines.engine import RefusedRowsError
from answerkey.engines.opening import find_engine, open_database
from answerkey.engines.schema import ForeignKey

NOW = "2025-01-30 09:30:00"


def write(folder: Path, text: str) -> Path:
    path = folder / "some.duckdb.sql"
    path.write_text(text)
    return path


def test_the_name_of_the_file_says_the_engine(shop: Path) -> None:
    assert find_engine(shop) is ENGINE
    with open_database(shop) as database:
        assert database.execute("SELECT name FROM ship ORDER BY id LIMIT 1") == [("Ann",)]
        assert database.steps is None


def test_schema(shop: Path) -> None:
    schema = ENGINE.read_schema(shop)
    assert [table.name for table in schema.tables] == ["ship", "sales.trip", "crew", "old_ship"]
    ship, crew, view = (schema.find_table(name) for name in ("ship", "crew", "old_ship"))
    assert ship is not None
    assert crew is not None
    assert view is not None
    assert [(column.name, column.type) for column in ship.columns] == [
        ("id", "INTEGER"),
        ("name", "VARCHAR"),
        ("built", "DATE"),
        ("price", "DECIMAL(12,2)"),
        ("mood", "ENUM('sad', 'happy')"),
        ("tags", "VARCHAR[]"),
        ("twice", "INTEGER"),
    ]
    assert [column.primary_key for column in ship.columns] == [1, 0, 0, 0, 0, 0, 0]
    assert [column.is_not_null for column in ship.columns] == [True, True, *[False] * 5]
    assert ship.unique_keys == (("id",), ("name", "built"))
    assert crew.unique_keys == (("id",), ("name",))
    assert crew.foreign_keys == (
        ForeignKey(("ship_id",), "ship", ("id",)),
        ForeignKey(("boss_id",), "crew", ("id",)),
    )
    assert view.is_view
    assert [column.name for column in view.columns] == ["id", "name"]


def test_a_query_finds_tables_of_all_schemas(shop: Path) -> None:
    with ENGINE.open(shop) as database:
        rows = [("2020-01-01 10:00:00",), ("2020-02-01 10:30:00.5",)]
        assert database.execute("SELECT started FROM trip ORDER BY id") == rows
        assert database.execute("SELECT started FROM sales.trip ORDER BY id") == rows


def test_reads(shop: Path) -> None:
    with ENGINE.open(shop) as database:
        assert database.list_reads("SELECT name FROM old_ship") == {
            ("ship", "name"),
            ("ship", "built"),
        }
        assert database.list_reads("SELECT count(*) FROM crew") == {("crew", "")}
        assert database.list_reads(
            "SELECT s.price FROM ship s JOIN sales.trip t ON t.ship_id = s.id WHERE t.id > 1"
        ) == {("ship", "price"), ("ship", "id"), ("sales.trip", "ship_id"), ("sales.trip", "id")}
        assert database.list_reads("SELECT nothing FROM ship") is None
        assert database.list_reads("SELECT now()") is None
        assert database.list_reads("DROP TABLE ship") is None
        assert database.execute("SELECT 1") == [(1,)]


def test_reordered_copy_is_gone_when_it_is_closed(shop: Path, tmp_path: Path) -> None:
    copy = ENGINE.open_reordered(shop, None, now=None, folder=tmp_path)
    assert copy is not None
    with copy:
        assert copy.execute("SELECT id FROM ship") == [(3,), (2,), (1,)]
        assert copy.execute("SELECT id FROM crew") == [(2,), (1,)]
        assert copy.execute("SELECT id FROM sales.trip") == [(2,), (1,)]
        assert copy.execute("SELECT * FROM old_ship") == [(1, "Ann")]
        assert copy.execute("SELECT 'sad'::mood") == [("sad",)]
        assert [*tmp_path.iterdir()]
    assert not [*tmp_path.iterdir()]


def test_what_is_written_is_read_again(shop: Path, tmp_path: Path) -> None:
    stored = ENGINE.read_tables(shop, now=None)
    ship = stored.tables[0]
    assert ship.rows[0] == (1, "Ann", "1990-05-01", 10.5, "happy", '["a","b, c"]', 2)
    assert ship.generated == {"twice"}
    assert ship.allowed == {"mood": ("sad", "happy")}
    rows = {table.name: table.rows for table in stored.tables}
    content = ENGINE.write_tables(shop, stored, rows, now=None)
    assert content == ENGINE.write_tables(shop, stored, rows, now=None)
    path = tmp_path / "shop.01.duckdb.sql"
    path.write_bytes(content)
    assert ENGINE.read_tables(path, now=None) == stored
    assert ENGINE.read_schema(path) == ENGINE.read_schema(shop)
    assert ENGINE.write_tables(path, stored, rows, now=None) == content


def test_every_type_is_written_and_read_again(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """CREATE TABLE t (
            a BOOLEAN, b HUGEINT, c DECIMAL(30, 2), d DOUBLE, e FLOAT, f TIMESTAMPTZ, g INTERVAL,
            h UUID, i JSON, j STRUCT(x INTEGER, y VARCHAR[]), k MAP(VARCHAR, INTEGER), l BLOB,
            m TIME, n DATE, o BIT, p VARCHAR, q TIMESTAMP_NS, r UBIGINT, s UNION(u INTEGER, v DATE),
            t DOUBLE, u FLOAT[], v DECIMAL(3, 1)[], w ENUM('x', 'y')[]
        );
        INSERT INTO t VALUES (
            true, '170141183460469231731687303715884105727', '1234567890123456789.50', 0.1, 0.5,
            '2020-01-01 10:00:00+02', INTERVAL '1 month 2 days',
            '00000000-0000-0000-0000-000000000001',
            '{"b": 1, "a": [1.50, null]}', {'x': 1, 'y': ['p', 'q']}, MAP {'k': 1}, '\\xAA'::BLOB,
            '10:00:00.25', 'infinity', '0101', 'it''s' || chr(0) || '!',
            '2020-01-01 00:00:00.123456789', 18446744073709551615, NULL,
            'nan', ['-inf'::FLOAT, 1], [1.5], ['y', NULL]
        );""",
    )
    stored = ENGINE.read_tables(path, now=None)
    (table,) = stored.tables
    assert table.rows == [
        (
            *(1, "170141183460469231731687303715884105727", "1234567890123456789.5", 0.1, 0.5),
            *("2020-01-01 08:00:00+00", "1 month 2 days", "00000000-0000-0000-0000-000000000001"),
            *('{"a":[1.5,null],"b":1}', '{"x":1,"y":["p","q"]}', '{"k":1}', "\\xAA"),
            *("10:00:00.25", "infinity", "0101", "it's\0!", "2020-01-01 00:00:00.123456789"),
            *("18446744073709551615", None, "nan", "[-Infinity,1.0]", "[1.5]", '["y",null]'),
        )
    ]
    path.write_bytes(ENGINE.write_tables(path, stored, {"t": table.rows}, now=None))
    assert ENGINE.read_tables(path, now=None).tables == stored.tables


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("true", 1),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", "9223372036854775808"),
        ("sum(i) FROM range(3) r(i)", 3),
        ("1.50", 1.5),
        ("2.00::DECIMAL(5, 2)", 2.0),
        ("5::DECIMAL(12, 0)", 5),
        ("12345678901234.56::DECIMAL(20, 2)", "12345678901234.56"),
        ("1234567890123.45::DECIMAL(20, 2)", 1234567890123.45),
        ("1 / 4", 0.25),
        ("avg(i) FROM range(2) r(i)", 0.5),
        ("NULL", None),
        ("DATE '2025-01-30'", "2025-01-30"),
        ("DATE '0044-03-15 (BC)'", "0044-03-15 (BC)"),
        ("TIMESTAMP '99999-01-01'", "99999-01-01 00:00:00"),
        ("TIMESTAMP '2025-01-30 09:30:00'", "2025-01-30 09:30:00"),
        ("TIMESTAMP '2025-01-30 09:30:00.120'", "2025-01-30 09:30:00.12"),
        ("TIMESTAMPTZ '2025-01-30 09:30:00+01'", "2025-01-30 08:30:00+00"),
        ("'-infinity'::TIMESTAMP", "-infinity"),
        ("TIME '09:30'", "09:30:00"),
        ("INTERVAL '14 months'", "1 year 2 months"),
        ("""'{"b": 1, "a": null}'::JSON""", '{"a":null,"b":1}'),
        ("[1, NULL]", "[1,null]"),
        ("[DATE '2025-01-30']", '["2025-01-30"]'),
        ("{'a': 1, 'b': {'c': 'x'}}", '{"a":1,"b":{"c":"x"}}'),
        ("[1, 2]::INTEGER[2]", "[1,2]"),
        ("row(1, 'x')", '[1,"x"]'),
        ("[1.5::DECIMAL(3, 1)]", "[1.5]"),
        ("['happy'::mood]", '["happy"]'),
    ],
)
def test_values(shop: Path, sql: str, value: object) -> None:
    with ENGINE.open(shop) as database:
        rows = database.execute(f"SELECT {sql}")
    assert rows == [(value,)]
    assert type(rows[0][0]) is type(value)


@pytest.mark.parametrize("sql", ["'nan'::DOUBLE", "['inf'::FLOAT]", "{'a': 'nan'::DOUBLE}"])
def test_what_is_no_number_has_no_answer(shop: Path, sql: str) -> None:
    with ENGINE.open(shop) as database, pytest.raises(QueryError) as caught:
        database.execute(f"SELECT {sql}")
    assert caught.value.reason == Reason.NOT_FINITE


def test_time_zone_of_the_first_line(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        '-- answerkey: {"engine": "duckdb", "settings": {"timezone": "America/New_York"}}\n'
        "CREATE TABLE t (a TIMESTAMPTZ);\n"
        "INSERT INTO t VALUES ('2025-01-30 09:30:00');",
    )
    with ENGINE.open(path) as database:
        assert database.execute("SELECT a, a AT TIME ZONE 'UTC' FROM t") == [
            ("2025-01-30 09:30:00-05", "2025-01-30 14:30:00")
        ]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("now()", "2025-01-30 09:30:00+00"),
        ("current_timestamp", "2025-01-30 09:30:00+00"),
        ("get_current_timestamp()", "2025-01-30 09:30:00+00"),
        ("transaction_timestamp()", "2025-01-30 09:30:00+00"),
        ("localtimestamp", "2025-01-30 09:30:00"),
        ("current_localtimestamp()", "2025-01-30 09:30:00"),
        ("current_date", "2025-01-30"),
        ("current_date()", "2025-01-30"),
        ("today()", "2025-01-30"),
        ("current_date - INTERVAL 30 DAY", "2024-12-31 00:00:00"),
        ("localtime", "09:30:00"),
        ("current_time", "09:30:00+00"),
        ("ago(INTERVAL 1 DAY)", "2025-01-29 09:30:00+00"),
        ("age(TIMESTAMP '2024-01-30')", "1 year"),
        ("age(TIMESTAMP '2024-01-30', TIMESTAMP '2023-01-30')", "1 year"),
        ("day FROM today", "2025-01-30"),
        ("max(at_time) FROM log", "2025-01-30 09:30:00"),
    ],
)
def test_clock_shows_the_instant(tmp_path: Path, sql: str, value: object) -> None:
    path = write(
        tmp_path,
        "CREATE TABLE log (id INTEGER, at_time TIMESTAMP DEFAULT localtimestamp);\n"
        "INSERT INTO log (id) VALUES (1);\n"
        "CREATE VIEW today AS SELECT current_date AS day;",
    )
    with ENGINE.open(path, now=NOW) as database:
        assert database.execute(f"SELECT {sql}") == [(value,)]


def test_a_view_of_the_clock_is_at_the_instant(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "CREATE VIEW v AS SELECT current_date AS a, now() AS b, age(DATE '2025-01-01') AS c;",
    )
    with ENGINE.open(path, now="2025-01-30") as database:
        assert database.execute("FROM v") == [("2025-01-30", "2025-01-30 00:00:00+00", "29 days")]
    with pytest.raises(sqlite3.DatabaseError, match="view v: function"):
        ENGINE.open(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CREATE TABLE t (a INTEGER); COPY t FROM '/etc/passwd';", "expected CREATE TYPE"),
        ("ATTACH '/tmp/x.duckdb' AS x;", "expected CREATE TYPE"),
        ("SET threads = 4;", "expected CREATE TYPE"),
        ("CREATE MACRO now() AS 1;", "expected CREATE TYPE"),
        ("CREATE TEMP TABLE t (a INTEGER);", "expected CREATE TYPE"),
        ("CREATE SECRET s (TYPE s3);", "expected CREATE TYPE"),
        ("/* a */ DROP TABLE t;", "expected CREATE TYPE"),
        ("/* */ DROP TABLE t; /* */ CREATE TABLE t (a INTEGER);", "expected CREATE TYPE"),
        ("/* /* */ CREATE TABLE t (a INTEGER) */ CREATE MACRO f() AS 1;", "expected CREATE TYPE"),
        ("-- one\rCREATE TABLE t (a INTEGER)\nCREATE MACRO f() AS 1;", "syntax|function|expected"),
        ("INSTALL httpfs;", "expected CREATE TYPE"),
        ("SELECT 1;", "expected CREATE TYPE"),
        ("CREATE TABLE t AS SELECT * FROM read_text('/etc/passwd');", "disabled by configuration"),
        ("CREATE TABLE t AS SELECT random() AS a;", "function random depends on more"),
        ("CREATE TABLE t AS SELECT now() AS a;", "function now depends on more"),
        ("CREATE TABLE t AS SELECT current_date AS a;", "function current_date depends on more"),
        (
            "CREATE TABLE t (a INTEGER, b TIMESTAMP DEFAULT now()); INSERT INTO t (a) VALUES (1);",
            "function now depends on more",
        ),
        ("CREATE VIEW v AS SELECT * FROM duckdb_settings();", "view v: function duckdb_settings"),
        ("CREATE VIEW v AS SELECT system.main.now() AS a;", "view v: function now"),
        ("CREATE VIEW v AS SELECT current_timestamp AS a;", "view v: function current_timestamp"),
        ("CREATE VIEW v (a) AS SELECT random();", "view v: function random"),
        ('CREATE VIEW "v AS SELECT 1 --" AS SELECT random();', "function random"),
        ('CREATE VIEW v ("a AS SELECT 1 --") AS SELECT random();', "function random"),
        ("CREATE TABLE t (a INTEGER, b DOUBLE GENERATED ALWAYS AS (random()));", "random"),
        ("CREATE TABLE t (a DATE, b INTERVAL AS (age(a)));", "column b: function age"),
        ("CREATE TABLE t (a INTEGER, b DATE AS (current_date));", "current_date"),
        (
            "CREATE TABLE t (a INTEGER, b VARCHAR AS (current_setting('threads')));",
            "current_setting",
        ),
        ("CREATE VIEW v AS FROM read_csv('/etc/passwd');", "disabled by configuration"),
        ("CREATE TABLE t (a INTEGER", "syntax error"),
        (
            '-- answerkey: {"engine": "postgres"}\nCREATE TABLE t (a INTEGER);',
            "expected the text of a database of duckdb",
        ),
        ("-- answerkey: x\nCREATE TABLE t (a INTEGER);", "expected a line such as"),
        ('-- answerkey: {"engine": "duckdb", "settings": {"threads": 4}}\n', "expected timezone"),
        ("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES ('x');", "Could not convert"),
    ],
)
def test_a_text_that_does_more_is_refused(
    tmp_path: Path, cache: Path, text: str, words: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(sqlite3.DatabaseError, match=words) as caught:
        ENGINE.open(path)
    assert str(path) in str(caught.value)
    assert not [*cache.rglob(".building-*")]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ENGINE.open(tmp_path / "none.duckdb.sql")


def test_a_changed_text_is_another_database(tmp_path: Path) -> None:
    for number in (1, 22):
        path = write(tmp_path, f"CREATE TABLE t AS SELECT {number} AS a;")
        with ENGINE.open(path) as database:
            assert database.execute("FROM t") == [(number,)]


def test_filled_database(shop: Path) -> None:
    stored = ENGINE.read_tables(shop, now=None)
    rows = {table.name: table.rows for table in stored.tables}
    with ENGINE.open_refilled(shop, stored, Limits(), now=None) as database:
        database.fill_tables(rows, None)
        assert database.execute("FROM old_ship") == [(1, "Ann")]
        assert database.execute("SELECT count(*) FROM trip") == [(2,)]
        database.fill_tables({"ship": rows["ship"][1:]}, None)
        assert database.execute("SELECT id, twice FROM ship") == [(2, 4), (3, 6)]
        assert database.execute("SELECT count(*) FROM crew") == [(0,)]
        wrong = [
            {"ship": rows["ship"][:1] * 2},  # a key twice
            {"crew": rows["crew"]},  # no such ship
            {"ship": [(1, "Ann", None, None, "angry", None, None)]},
            {"ship": [(1, None, None, None, None, None, None)]},
            {"ship": rows["ship"], "crew": [(1, 1, None, "x" * 30)]},
        ]
        for refused in wrong:
            with pytest.raises(RefusedRowsError):
                database.fill_tables(refused, None)
            assert database.execute("SELECT id FROM ship") == [(2,), (3,)]
        sql = "WITH gone AS (DELETE FROM ship RETURNING id) FROM gone"
        for query in (sql, "DELETE FROM ship", "SELECT * FROM memory.main.t"):
            with pytest.raises(QueryError):
                database.execute(query)
        assert database.execute("SELECT id FROM ship") == [(2,), (3,)]
        assert database.list_reads("SELECT name FROM ship") == {("ship", "name")}


def test_filled_rows_outlive_the_process(shop: Path) -> None:
    stored = ENGINE.read_tables(shop, now=None)
    limits = Limits(max_cpu_s=1)
    with ENGINE.open_refilled(shop, stored, limits, now=None) as database:
        database.fill_tables({"ship": stored.tables[0].rows[:1]}, None)
        with pytest.raises(QueryError) as caught:
            database.execute("SELECT count(*) FROM range(10000000) a, range(10000000) b")
        assert caught.value.reason is Reason.TIME_EXCEEDED
        assert database.execute("SELECT name FROM ship") == [("Ann",)]


def test_a_table_of_a_query_is_taken_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'CREATE TABLE "a as b" (c INTEGER DEFAULT 1);\n'
        "CREATE TABLE t AS SELECT i, 'x' || i AS name FROM range(2) r(i);",
    )
    stored = ENGINE.read_tables(path, now=None)
    assert stored.statements == (
        'CREATE TABLE "a as b" (c INTEGER DEFAULT 1)',
        'CREATE TABLE t(i BIGINT, "name" VARCHAR)',
    )
    assert [table.rows for table in stored.tables] == [[], [(0, "x0"), (1, "x1")]]
