"""A query of DuckDB reads its database and nothing else, within its limits; the next one, the files
and other databases never notice it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="needs the extra `duckdb`")

from answerkey.base.reasons import Reason
from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.database import Database, Limits, QueryError
from answerkey.engines.duckdb.engine import ENGINE
from answerkey.engines.duckdb.refusals import (
    CLOCK_FUNCTIONS,
    FORBIDDEN_FUNCTIONS,
    RANDOM_FUNCTIONS,
)

LIMITS = Limits(max_cpu_s=2, max_seconds=60, max_heap_bytes=300_000_000)
SECRET = "/etc/passwd"

OTHER_STATEMENTS = [
    "ATTACH '/tmp/other.duckdb' AS other",
    "ATTACH ':memory:' AS other",
    "BEGIN",
    "CALL pragma_version()",
    "CHECKPOINT",
    "COPY ship TO '/tmp/ship.csv'",
    f"COPY ship FROM '{SECRET}'",
    "CREATE TEMP TABLE t AS SELECT 1",
    "CREATE TEMP MACRO abs(a) AS 0",
    "DELETE FROM ship",
    "DESCRIBE ship",
    "DETACH corpus",
    "DROP TABLE ship",
    "EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "EXPORT DATABASE '/tmp/export'",
    "INSERT INTO ship (id, name) VALUES (9, 'x')",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "PREPARE p AS SELECT 1",
    "SET threads = 4",
    "SET VARIABLE answer = 42",
    "SET search_path = 'sales'",
    "SHOW TABLES",
    "SUMMARIZE ship",
    "UPDATE ship SET name = 'x'",
    "USE memory",
    "VACUUM",
    "(DESC ship)",
    "SELECT * FROM (DESCRIBE ship)",
    "SELECT * FROM (SHOW TABLES)",
    "/* one */ DESC ship",
    "-- one\rDESC ship",
    "SELECT 1 UNION ALL DESC ship",
    "WITH new AS (INSERT INTO ship (id, name) VALUES (9, 'x') RETURNING id) SELECT * FROM new",
    "WITH gone AS (DELETE FROM ship RETURNING id) SELECT * FROM gone",
    "PIVOT ship ON mood USING sum(price)",
]
FORBIDDEN = [
    f"SELECT * FROM read_csv('{SECRET}')",
    f"SELECT * FROM read_text('{SECRET}')",
    f"SELECT * FROM read_blob('{SECRET}')",
    "SELECT * FROM 'other.parquet'",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM sniff_csv('x.csv')",
    "SELECT * FROM parquet_metadata('x.parquet')",
    "SELECT * FROM read_json_auto('https://example.org/a.json')",
    "SELECT current_setting('memory_limit')",
    "SELECT getvariable('a')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM system.main.duckdb_settings()",
    "SELECT * FROM duckdb_tables",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM duckdb_memory()",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM pragma_database_list",
    "SELECT * FROM pragma_storage_info('ship')",
    "SELECT * FROM information_schema.tables",
    "SELECT relname FROM pg_class",
    "SELECT relname FROM pg_catalog.pg_class",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('ship')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT * FROM histogram(ship, id)",
    "SELECT current_query()",
    "SELECT sleep_ms(100000)",
    "SELECT pg_sleep(100)",
    "SELECT setseed(0.5)",
    "SELECT write_log('x')",
    "SELECT * FROM enable_logging()",
    "SELECT list_transform([1], lambda x: sleep_ms(x))",
    "SELECT \"current_setting\"('threads')",
    "SELECT 'threads'.current_setting()",
]
NONDETERMINISTIC = [
    "SELECT random()",
    "SELECT system.main.random()",
    "SELECT RANDOM ( )",
    'SELECT "uuid"()',
    "SELECT gen_random_uuid()",
    "SELECT uuidv7()",
    "SELECT nextval('s')",
    "SELECT version()",
    "SELECT txid_current()",
    "SELECT name FROM ship ORDER BY random()",
    "SELECT * FROM ship TABLESAMPLE 50%",
    "SELECT * FROM ship USING SAMPLE 1",
    "SELECT reservoir_quantile(id, 0.5) FROM ship",
    "SELECT now()",
    "SELECT current_date",
    "SELECT current_timestamp - INTERVAL 1 DAY",
    "SELECT localtimestamp",
    "SELECT localtime",
    "SELECT current_time",
    "SELECT today()",
    "SELECT ago(INTERVAL 1 DAY)",
    "SELECT age(built) FROM ship",
    "SELECT pg_catalog.now()",
    "SELECT transaction_timestamp()",
    "SELECT CURRENT_DATE FROM ship WHERE name = 'Ann'",
]
HEAVY = [
    ("SELECT len(range(1000000000))", Reason.HEAP_EXCEEDED),
    ("SELECT repeat('x', 2000000000)", Reason.HEAP_EXCEEDED),
    ("SELECT list(i) FROM range(1000000000) r(i)", Reason.HEAP_EXCEEDED),
    ("SELECT string_agg(repeat('x', 10000), '') FROM range(300000)", Reason.HEAP_EXCEEDED),
    ("SELECT count(DISTINCT i) FROM range(100000000) r(i)", Reason.HEAP_EXCEEDED),
    ("SELECT count(*) FROM range(10000000) a, range(10000000) b", Reason.TIME_EXCEEDED),
    (
        "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x",
        Reason.TIME_EXCEEDED,
    ),
    ("SELECT * FROM range(1000000000000)", Reason.TOO_MANY_ROWS),
    ("SELECT repeat('x', 2000000)", Reason.VALUE_TOO_LARGE),
    ("SELECT repeat('x', 900000) FROM range(100)", Reason.ANSWER_TOO_LARGE),
    ("SELECT " + "(" * 20_000 + "1" + ")" * 20_000, Reason.SQL_ERROR),
    ("SELECT " + "1 + " * 20_000 + "1", Reason.SQL_ERROR),
    ("SELECT " + ", ".join(["1"] * 5000), Reason.SQL_ERROR),
    ("SELECT '" + "x" * 200_000 + "'", Reason.VALUE_TOO_LARGE),
    ("SELECT 1; SELECT 2", Reason.MULTIPLE_STATEMENTS),
    ("SELECT 'a'::BLOB", Reason.BLOB),
    ("SELECT 'nan'::DOUBLE", Reason.NOT_FINITE),
    ("SELECT '\ud800'", Reason.UNDECODABLE_TEXT),
    (f"SELECT * FROM '{SECRET}'", Reason.SQL_ERROR),  # such a table does not exist
    ("SELECT ?", Reason.SQL_ERROR),
    ("SELECT $name", Reason.SQL_ERROR),
    ("SELECT error('x')", Reason.SQL_ERROR),
    ("", Reason.NOT_A_SELECT),
    ("-- SELECT 1", Reason.NOT_A_SELECT),
    ("SELEC 1", Reason.SQL_ERROR),
]


@pytest.fixture(scope="module")
def database(
    shop: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE_VARIABLE, str(cache))
        with ENGINE.open(shop, LIMITS) as opened:
            yield opened


@pytest.fixture(autouse=True)
def unharmed(database: Database, cache: Path) -> Iterator[None]:
    files = read_files(cache)
    yield
    assert database.execute("SELECT count(*), sum(price) FROM ship") == [(3, 1234567900.62)]
    assert read_files(cache) == files


def read_files(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def find_reason(database: Database, sql: str) -> Reason:
    with pytest.raises(QueryError) as caught:
        print(database.execute(sql)[:3])
    assert "/tmp/" not in caught.value.detail
    return caught.value.reason


@pytest.mark.parametrize("sql", OTHER_STATEMENTS)
def test_other_statements_are_refused(database: Database, sql: str) -> None:
    assert find_reason(database, sql) is Reason.NOT_A_SELECT


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_what_reads_more_than_the_database_is_refused(database: Database, sql: str) -> None:
    assert find_reason(database, sql) is Reason.FORBIDDEN_FUNCTION


@pytest.mark.parametrize("sql", NONDETERMINISTIC)
def test_chance_and_clock_are_refused(database: Database, sql: str) -> None:
    assert find_reason(database, sql) is Reason.NONDETERMINISTIC_FUNCTION


@pytest.mark.parametrize(("sql", "reason"), HEAVY, ids=lambda value: str(value)[:40])
def test_limits_hold(database: Database, sql: str, reason: Reason) -> None:
    assert find_reason(database, sql) is reason


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1 AS random, 2 AS now, 3 AS version", [(1, 2, 3)]),
        ("SELECT random FROM (SELECT 1 AS random)", [(1,)]),
        ("WITH pg_class AS (SELECT 7 AS a) SELECT a FROM pg_class", [(7,)]),
        (
            "SELECT 'now() and read_csv' || '; DROP TABLE ship'",
            [("now() and read_csv; DROP TABLE ship",)],
        ),
        ("SELECT id FROM ship ORDER BY id DESC LIMIT 1", [(3,)]),
        ("SELECT * FROM range(2)", [(0,), (1,)]),
        ("FROM unnest([1, 2])", [(1,), (2,)]),
        ("SELECT age(DATE '2020-03-01', DATE '2020-01-01')", [("2 months",)]),
        ("SELECT current_date FROM (SELECT 5 AS current_date)", [(5,)]),
        ("SELECT count(*) FROM ship; -- all", [(3,)]),
        (";SELECT ['a'] /* list */; ; -- done", [('["a"]',)]),
        ("SELECT $$a;--b$$ AS a, [1] ;", [("a;--b", "[1]")]),
    ],
)
def test_words_that_are_no_calls_are_fine(database: Database, sql: str, rows: list[object]) -> None:
    assert database.execute(sql) == rows


# They read the time zone or the clock only through their arguments, or nothing that changes.
_SAME_FOR_SAME_ARGUMENTS = {
    *("+", "-", "age", "century", "current_schema", "current_schemas", "date_diff", "date_part"),
    *("date_sub", "date_trunc", "datediff", "datepart", "datesub", "datetrunc", "day", "dayname"),
    *("dayofmonth", "dayofweek", "dayofyear", "decade", "epoch", "era", "error"),
    *("generate_series", "hour", "isodow", "isoyear", "julian", "last_day", "make_timestamptz"),
    *("microsecond", "millennium", "millisecond", "minute", "month", "monthname", "quarter"),
    *("range", "second", "strftime", "time_bucket", "timezone", "timezone_hour"),
    *("timezone_minute", "week", "weekday", "weekofyear", "year", "yearweek"),
}


def test_every_function_of_the_installed_version_is_known() -> None:
    """A function of a new version that depends on more than its arguments has to be looked at."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions()"
            " WHERE stability NOT IN ('CONSISTENT') AND NOT has_side_effects"
        ).fetchall()
    known = FORBIDDEN_FUNCTIONS | RANDOM_FUNCTIONS | CLOCK_FUNCTIONS | _SAME_FOR_SAME_ARGUMENTS
    assert {name for (name,) in rows} <= known
