"""A dump is data: what else it says is refused or told, and its sessions are those of gold."""

from __future__ import annotations

import gzip
import io
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.engines.postgres.dump_text import DumpReader
from answerkey.intake import servers
from answerkey.intake.dialects import Comparer, read_renaming
from answerkey.intake.sources import open_source
from answerkey.intake.whole_database import convert

needs_postgres = pytest.mark.skipif(
    servers.find_programs() is None, reason="needs Postgres: apt-get install postgresql"
)


def read(text: str, *, has_escapes: bool = False) -> list[str]:
    """The statements of a dump, and the rows between them."""
    file = io.BytesIO(text.encode())
    reader = DumpReader(file, Path("a.sql"), has_escapes=lambda: has_escapes)
    found = []
    for statement in reader.read_statements():
        found.append(statement.text.decode())
        if statement.text.startswith(b"COPY"):
            found += [row.decode() for row in reader.read_rows()]
    return found


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT ';'; SELECT \"a;b\" FROM t;", ["SELECT ';'", 'SELECT "a;b" FROM t']),
        ("-- a; b\n/* c; /* d */ ; */ SELECT 1;\n", ["SELECT 1"]),
        ("SELECT 'it''s;\n\\! x';", ["SELECT 'it''s;\n\\! x'"]),
        ("SELECT E'\\';';SELECT 'a\\';SELECT 2", ["SELECT E'\\';'", "SELECT 'a\\'", "SELECT 2"]),
        ("DO $a$ ; $$ ; $a$; SELECT a$b;c$", ["DO $a$ ; $$ ; $a$", "SELECT a$b", "c$"]),
        (
            "CREATE RULE r AS ON INSERT TO t DO (DELETE FROM u; DELETE FROM v);SELECT 1",
            ["CREATE RULE r AS ON INSERT TO t DO (DELETE FROM u; DELETE FROM v)", "SELECT 1"],
        ),
        (
            "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END;",
            ["CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; SELECT 2; END"],
        ),
        ("COPY t FROM stdin;\n1;\t\\N\n\\\\.\n\\.\n\\.\nSELECT 1", None),
        ('\ufeff\\restrict key\n\\connect "my db"\n\\unrestrict key\n', ["my db"]),
        ("\\encoding LATIN1\nSELECT 1", ["SET client_encoding = 'LATIN1'", "SELECT 1"]),
        ("\\connect -reuse-previous=on \"dbname='my db'\"\n", ["my db"]),
    ],
)
def test_statements_end_where_postgres_ends_them(text: str, statements: list[str] | None) -> None:
    wanted = ["COPY t FROM stdin", "1;\t\\N\n", "\\\\.\n", "SELECT 1"]
    assert read(text) == (statements or wanted)


def test_backslash_is_an_escape_where_the_session_says_so() -> None:
    assert read("SELECT 'a\\'; b'; SELECT 2", has_escapes=True) == ["SELECT 'a\\'; b'", "SELECT 2"]


@pytest.mark.parametrize(
    "line",
    [
        "\\! touch x",
        "  \\! touch x",
        "\\q",
        "\\i /etc/passwd",
        "\\copy t from program 'touch x'",
        "\\o |touch x",
        "\\set a `touch x`",
        "\\gexec",
        "\\connectx",
        "SELECT 1 \\g |touch x",
        "SELECT 1; \\! touch x",
        "/* a */ \\! touch x",
        "SELECT 'a' \\\\ \\! touch x",
    ],
)
def test_command_of_psql_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(InputError, match=r"a\.sql: line 2: .* a command of psql.*remove the line"):
        read(f"SELECT 1;\n{line}\nSELECT 2;\n")


@pytest.mark.parametrize("text", ["COPY t FROM stdin;\n1\n", "SELECT 'a", "SELECT $$a", "/* a"])
def test_dump_that_is_cut_off_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="cut off"):
        read(text)


def load(
    folder: Path, text: str, *, dialect: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The rows of each table of a dump, and what is told."""
    dump = folder / "shop.sql"
    dump.write_text(text, encoding="utf-8")
    with ExitStack() as stack:
        source = open_source(str(dump), stack, without=Path("q"), dialect=dialect, engine="sqlite")
        engine = source.engine
        assert engine is not None
        return {table.name: list(engine.read_rows(table)) for table in engine.tables}, engine.notes


START = "CREATE TABLE public.t (a integer, b text);\nINSERT INTO public.t VALUES (1, 'x');\n"


@needs_postgres
@pytest.mark.slow
def test_statement_that_reaches_for_files_programs_or_rights_fails(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    mark = tmp_path / "ran"
    rows, notes = load(
        tmp_path,
        f"""{START}
        DO $$ BEGIN EXECUTE 'COPY (SELECT 1) TO ''{mark}'''; END $$;
        DO $$ BEGIN EXECUTE 'COPY (SELECT 1) TO PROGRAM ''touch {mark}'''; END $$;
        SELECT lo_export(lo_from_bytea(0, 'x'), '{mark}');
        SET SESSION AUTHORIZATION postgres; SET ROLE postgres;
        GRANT pg_execute_server_program TO loader; ALTER ROLE loader SUPERUSER;
        CREATE TABLE public.stolen AS SELECT pg_read_file('/etc/passwd');
        CREATE EXTENSION file_fdw; CREATE EXTENSION dblink;
        CREATE FUNCTION run(cstring) RETURNS int LANGUAGE c AS 'libc.so.6', 'system';
        CREATE TABLE public.u (a integer);
        COPY public.u FROM PROGRAM 'touch {mark}; echo 1';
        ALTER SYSTEM SET archive_command = 'touch {mark}';
        """,
    )
    assert rows == {"t": [(1, "x")]}
    assert not mark.exists()
    told = "\n".join(notes)
    assert "stolen is left out: permission denied for function pg_read_file" in told
    assert "u is left out: COPY of line 13: a dump reads and writes no file" in told
    assert "permission denied for function lo_export" in told


@needs_postgres
@pytest.mark.slow
def test_setting_of_a_role_is_told_without_its_value(tmp_path: Path) -> None:
    settings = ("app.key TO 'q7Zx'", '"app.sign" = $$q7Zx$$', "app.list TO a, q7Zx")
    sets = "".join(f"ALTER ROLE kim IN DATABASE shop SET {words};\n" for words in settings)
    rows, notes = load(tmp_path, f"{START}{sets}ALTER USER kim PASSWORD 'q7Zx';")
    assert rows == {"t": [(1, "x")]}
    assert notes == [
        f"not taken, since it is a role's own: ALTER ROLE kim IN DATABASE shop SET {name}"
        for name in ("app.key", '"app.sign"', "app.list")
    ]


@needs_postgres
@pytest.mark.slow
def test_table_of_which_rows_are_lost_is_left_out_with_all_that_has_them(tmp_path: Path) -> None:
    rows, notes = load(
        tmp_path,
        START
        + """
        CREATE EXTENSION geography_of_mars;
        CREATE TABLE public.town (id integer, shape public.geometry(Point, 4326));
        CREATE TABLE public.log (id integer, day date) PARTITION BY RANGE (day);
        CREATE TABLE public.log_1 PARTITION OF public.log
            FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
        CREATE VIEW public.days AS SELECT day FROM public.log;
        BEGIN;
        CREATE TABLE public.pair (a integer);
        INSERT INTO public.pair VALUES (1);
        INSERT INTO public.pair VALUES ('one');
        COMMIT;
COPY public.town (id, shape) FROM stdin;
1\t0101
\\.
COPY public.log_1 FROM stdin;
1\t2024-01-01
2\tno day
\\.
COPY public.t FROM stdin;
2\ty
\\.
""",
    )
    assert rows == {"t": [(1, "x"), (2, "y")]}
    told = "\n".join(notes)
    for name in ("public.town", "public.log", "public.log_1", "public.pair"):
        assert f"{name} is left out: " in told
    assert 'extension "geography_of_mars" is not available' in told


@needs_postgres
@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE public.t (a integer);\nINSERT INTO public.t VALUES (7);\n",
        "CREATE TABLE t (\n    a SERIAL,\n    b text\n);\nINSERT INTO t VALUES (7);\n",
        "CREATE TABLE t (a integer DEFAULT '7'::integer);\nINSERT INTO t DEFAULT VALUES;\n",
        "CREATE TABLE t (a integer);\nCOPY t (a) FROM stdin;\n7\n\\.\n",
        "CREATE DATABASE Shop;\n\\connect shop\nCREATE TABLE public.t AS SELECT 7;\n",
        "CREATE DATABASE postgres;\n\\connect postgres\nCREATE TABLE public.t AS SELECT 7;\n",
    ],
)
def test_dump_without_its_head_is_one_of_postgres(tmp_path: Path, text: str) -> None:
    rows, _ = load(tmp_path, text)
    assert [row[0] for row in rows["t"]] == [7]


@needs_postgres
@pytest.mark.slow
def test_dialect_decides_whose_text_is_that_anybody_could_have_written(tmp_path: Path) -> None:
    text = "CREATE TABLE t (a integer);\nINSERT INTO t VALUES (1);\n"
    assert load(tmp_path, text, dialect="postgres") == ({"t": [(1,)]}, [])
    for said, own in (("postgres", "PRAGMA foreign_keys=OFF;\n"), (None, ""), ("sqlite", "")):
        (tmp_path / "shop.sql").write_text(own + text, encoding="utf-8")
        with ExitStack() as stack:
            place = str(tmp_path / "shop.sql")
            source = open_source(place, stack, without=Path("q"), dialect=said, engine="sqlite")
        assert source.engine is None


@needs_postgres
@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT pg_sleep(1000);",
        "DO $$ BEGIN LOOP NULL; END LOOP; END $$;",
        "SET statement_timeout = 0; SELECT generate_series(1, 100000000000);",
    ],
)
def test_dump_without_end_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    monkeypatch.setattr(servers, "_LOAD_SECONDS", 2)
    with pytest.raises(InputError, match="it takes more than 2 seconds to load"):
        load(tmp_path, START + statement)


@needs_postgres
@pytest.mark.slow
def test_no_server_outlives_a_command_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(f"{START}SELECT pg_sleep(1000);\n", encoding="utf-8")
    code = (
        "from pathlib import Path\nfrom answerkey.intake.servers import load_dump\n"
        f"load_dump(Path({str(tmp_path / 'a.sql')!r}), is_text=True).__enter__()"
    )
    place = Path(tempfile.mkdtemp(dir="/tmp"))
    place.chmod(0o1777)
    env = {**os.environ, "TMPDIR": str(place)}
    command = subprocess.Popen([sys.executable, "-c", code], env=env, start_new_session=True)

    def find_pid() -> int | None:
        for file in place.glob("answerkey-*/data/postmaster.pid"):
            lines = file.read_text(encoding="utf-8").splitlines()
            return int(lines[0]) if lines and "ready" in lines[-1] else None
        return None

    end = time.monotonic() + 120
    while (pid := find_pid()) is None:
        assert time.monotonic() < end
        time.sleep(0.1)
    os.killpg(command.pid, signal.SIGKILL)
    command.wait(timeout=60)
    while list(place.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    place.rmdir()


@pytest.mark.parametrize("name", ["a.sql", "a.dump", "a.csv", "a.gz"])
def test_pipe_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with ExitStack() as stack, pytest.raises(InputError, match="a pipe, socket or device"):
        open_source(str(tmp_path / name), stack, without=Path("q"), engine="sqlite")


def test_file_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_LEAST_MAX_BYTES", 1_000_000)
    with gzip.open(tmp_path / "a.sql.gz", "wb") as packed:
        packed.write(b" " * 20_000_000)
    with ExitStack() as stack, pytest.raises(InputError, match="unpacks to more than"):
        open_source(str(tmp_path / "a.sql.gz"), stack, without=Path("q"), engine="sqlite")


SESSION = """
CREATE DATABASE shop WITH TEMPLATE = template0 LOCALE = 'nowhere';
\\connect shop
ALTER DATABASE shop SET "TimeZone" TO 'America/New_York';
ALTER DATABASE shop SET "DateStyle" TO 'SQL, DMY';
ALTER DATABASE shop SET search_path TO 'sales', 'public';
ALTER DATABASE shop SET "IntervalStyle" TO 'iso_8601';
ALTER DATABASE shop SET bytea_output TO 'escape';
ALTER DATABASE shop SET extra_float_digits TO '-10';
ALTER DATABASE shop SET statement_timeout TO 1;
\\connect shop
CREATE EXTENSION IF NOT EXISTS hstore WITH SCHEMA public;
CREATE SCHEMA sales;
CREATE DOMAIN public.price AS numeric(8,2);
CREATE DOMAIN public.net AS public.price NOT NULL;
CREATE TYPE public.mood AS ENUM ('calm', 'rough');
CREATE TYPE public.pair AS (a integer, b text);
CREATE TABLE public.sale (id integer);
CREATE TABLE sales.sale (
    iban numeric PRIMARY KEY, at timestamptz, day date, net public.net, code character(4),
    exact numeric(38,20), parts numeric[], nets public.net[], moods public.mood[], opens timetz,
    floats float8[], span interval, bytes bytea, ratio float8, whole numeric(5,-2), cash money,
    tags public.hstore, pair public.pair, codes character(4)[], number oid);
INSERT INTO sales.sale VALUES (
    10000000000000000001, '2024-03-01 02:00+00', '2024-03-04', 1.5, 'ab', 0.12345678901234567890,
    '{1.50,NaN,12345678901234567890.5}', '{1.5,2}', '{calm,rough}', '23:30-05', '{NaN,Infinity,1}',
    '1 day 02:00', '\\xaa00', 0.1234567890123456, 1200, '$1,234.50', 'a=>1', '(1,"x y")',
    '{ab,c}', 12);
INSERT INTO sales.sale (iban, at, day, net, code) VALUES
    (10000000000000000002, '2024-03-01 12:00+00', '2024-04-03', 2.5, 'abc'),
    (3, 'infinity', '0044-03-15 BC', 3, 'ab');
CREATE VIEW sales.short AS SELECT iban AS number, net FROM sales.sale;
"""
FIRST = (
    *("10000000000000000001", "2024-02-29 21:00:00", "2024-03-04", 1.5, "ab"),
    *("0.12345678901234567890", "[1.50,null,12345678901234567890.5]", "[1.50,2.00]"),
    *('["calm","rough"]', "04:30:00", "[null,9e999,1.0]", "P1DT2H", b"\xaa\x00"),
    *(0.1234567890123456, 1200, "$1,234.50", '"a"=>"1"', '(1,"x y")', '["ab","c"]', 12),
)
# Gold, and whether it is kept: what cannot be the same in SQLite is set aside.
GOLD = [
    ("SELECT iban FROM sale", True),
    ("SELECT net FROM sale WHERE iban = 10000000000000000001", True),
    ("SELECT count(DISTINCT iban) FROM sale", True),
    ("SELECT iban::text FROM sale", True),
    ("SELECT a.net FROM sale a JOIN sale b ON a.iban = b.iban", True),
    ("SELECT iban FROM sale ORDER BY iban", False),
    ("SELECT number AS n FROM short ORDER BY n", False),
    ("SELECT number FROM short ORDER BY 1", False),
    ("SELECT max(exact) FROM sale", False),
    ("SELECT net FROM sale WHERE exact > 0.1", False),
    ("SELECT sum(exact) FROM sale", False),
    ("SELECT exact FROM sale WHERE net = 1.5", True),
    ("SELECT avg(net), sum(net) / 3 FROM sale", True),
    ("SELECT sum(net * 1000000000000) * 10000000 + 1 FROM sale", False),
    ("SELECT to_char(at, 'YYYY-MM'), count(*) FROM sale GROUP BY 1", True),
    ("SELECT at, day FROM sale", True),
    ("SELECT count(*) FROM sale WHERE day = '04/03/2024'", False),
    ("SELECT day::text FROM sale", False),
    ("SELECT net FROM sale WHERE code = 'ab'", True),
    ("SELECT code, length(code), code || 'x' FROM sale", True),
    ("SELECT code FROM sale WHERE code IN ('ab ', 'x') OR code LIKE 'a%' ORDER BY code", True),
    ("SELECT code FROM sale WHERE code LIKE 'ab'", False),
    ("SELECT a.iban FROM sale a, sale b WHERE a.code = b.codes[1]::text", False),
    ("SELECT whole, cash, tags, pair, number FROM sale", True),
    ("SELECT concat(code, 'x') FROM sale", False),
    ("SELECT parts, nets, moods, codes, opens, span FROM sale", True),
    ("SELECT bytes, ratio, whole, cash, tags, pair, number FROM sale", False),
    ("SELECT net FROM sale WHERE set_config('TimeZone', 'UTC', false) <> ''", False),
]


@needs_postgres
@pytest.mark.slow
def test_values_and_sessions_are_those_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(SESSION, encoding="utf-8")
    path = tmp_path / "made.sqlite"
    with ExitStack() as stack:
        source = open_source(str(tmp_path / "shop.sql"), stack, without=Path("q"), engine="sqlite")
        engine = source.engine
        assert engine is not None
        made = {table.name: table for table in convert(engine, path)}
        with closing(sqlite3.connect(path)) as connection:
            first = "SELECT * FROM sale WHERE bytes IS NOT NULL"
            assert connection.execute(first).fetchall() == [FIRST]
        sale = made["sale"]
        assert sale.place == ("sales", "sale")
        assert sale.keys == ['PRIMARY KEY ("iban")']
        assert sale.digits == {"iban", "exact"}
        assert {name: there for name, there, _ in sale.columns}["net"] == "numeric(8,2)"
        assert "times with a zone are in America/New_York" in engine.notes[0]
        assert "DateStyle = SQL, DMY; IntervalStyle = iso_8601" in engine.notes[1]
        renaming = read_renaming(engine, list(made.values()))
        with Comparer(path, engine) as comparer:
            kept = [
                (sql, comparer.check(sql, "postgres", renaming).differs is None) for sql, _ in GOLD
            ]
        assert kept == GOLD
        zone = engine.execute("SELECT current_setting('TimeZone')", max_rows=1)
        assert zone == [("America/New_York",)]


@needs_postgres
@pytest.mark.slow
def test_connection_that_ends_is_no_fault_of_a_query(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(START, encoding="utf-8")
    with ExitStack() as stack:
        engine = open_source(
            str(tmp_path / "a.sql"), stack, without=Path("q"), engine="sqlite"
        ).engine
        assert engine is not None
        with pytest.raises(InputError, match="the connection has ended"):
            engine.execute("SELECT pg_terminate_backend(pg_backend_pid())", max_rows=1)
