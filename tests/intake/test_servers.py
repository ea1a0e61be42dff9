"""Databases of real servers: a dump of Postgres in a server of its own, and what a URL gives."""

from __future__ import annotations

import gzip
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.engines.schema import ForeignKey
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.intake import servers
from answerkey.intake.conversion import NO_TIME
from answerkey.intake.dialects import Comparer, read_renaming
from answerkey.intake.engines import EngineError
from answerkey.intake.sources import GivenDatabase, open_source
from answerkey.intake.whole_database import convert
from tests.shared.checkout import run

TABLES = """
CREATE SCHEMA sales;
CREATE TYPE mood AS ENUM ('calm', 'rough');
CREATE TABLE ship (id integer PRIMARY KEY, name text NOT NULL, "Größe" numeric(10,2), sea mood,
    ok boolean, tags text[], extra jsonb, big numeric(40,0), key uuid, bytes bytea, born date,
    seen timestamptz, noted timestamp, at time, trip interval, f real, d double precision,
    address inet, years int4range, "select" varchar(9));
COMMENT ON COLUMN ship.name IS 'as painted';
INSERT INTO ship VALUES (2, 'Zoë', 12.00, 'calm', true, '{a,b}', '{"k": 1}',
    170141183460469231731687303715884105727, '11111111-1111-1111-1111-111111111111', '\\xAA',
    '2024-02-29', '2024-01-01 10:00:00+02', '2024-01-01 10:00:00.5', '10:00', '3 days', 0.1, 'nan',
    '10.0.0.1', '[1,5)', 'x');
INSERT INTO ship (id, name, born) VALUES (1, '✨', 'infinity');
CREATE TABLE sales.ship (
    id integer REFERENCES public.ship (id), "order" bigint, PRIMARY KEY (id, "order"));
INSERT INTO sales.ship VALUES (1, 2), (1, 1);
CREATE TABLE sales.line (id integer, "order" bigint,
    FOREIGN KEY (id, "order") REFERENCES sales.ship (id, "order"));
CREATE TABLE bare ();
CREATE TABLE log (id int, day date) PARTITION BY RANGE (day);
CREATE TABLE log_2024 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
INSERT INTO log VALUES (1, '2024-05-05');
CREATE VIEW calm AS SELECT name, EXTRACT(year FROM born) AS year FROM ship WHERE ok;
CREATE VIEW tag AS SELECT id, unnest(tags) AS tag FROM ship;
CREATE MATERIALIZED VIEW names AS SELECT name FROM ship;
"""
ROW = (
    *(2, "Zoë", 12.0, "calm", 1, '["a","b"]', '{"k": 1}', str(2**127 - 1)),
    *("11111111-1111-1111-1111-111111111111", b"\xaa", "2024-02-29", "2024-01-01 08:00:00"),
    *("2024-01-01 10:00:00.5", "10:00:00", "3 days", 0.1, None, "10.0.0.1", "[1,5)", "x"),
)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pg_dump writes of a database, in each of its formats."""
    pytest.importorskip("psycopg", reason="needs the extra `convert`")
    programs = servers.find_programs()
    if programs is None:
        pytest.skip("needs Postgres: apt-get install postgresql")
    folder = tmp_path_factory.mktemp("dumps")
    (folder / "tables.sql").write_text(TABLES, encoding="utf-8")
    dump = Path(programs["postgres"]).resolve().with_name("pg_dump")
    with servers.load_dump(folder / "tables.sql", is_text=True) as loaded:
        assert loaded.notes == []
        formats = {"ships.sql": "p", "ships.dump": "c", "ships.tar": "t", "ships": "d"}
        for name, kind in formats.items():
            command = [dump, f"--format={kind}", f"--file={folder / name}", loaded.url]
            subprocess.run(command, check=True, timeout=120)
        command = [dump, "--create", "--clean", f"--file={folder / 'made.sql'}", loaded.url]
        subprocess.run(command, check=True, timeout=120)
        text = (folder / "made.sql").read_text(encoding="utf-8").replace(" loaded", " ships")
        text = text.replace("LOCALE = 'C'", "LOCALE = 'xx_XX.utf8'")  # which is nowhere
        text = text.replace("SET row_security", "SET of_a_newer_version = 0;\nSET row_security")
        (folder / "made.sql").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def source(dumps: Path) -> Iterator[GivenDatabase]:
    with ExitStack() as stack:
        yield open_source(
            str(dumps / "ships.sql"), stack, without=Path("questions"), engine="sqlite"
        )


def test_server_that_passes_over_a_signal_while_it_starts_ends_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "server"
    folder.mkdir()
    programs = {}
    for name, code in {
        "initdb": "",
        "postgres": "signal.signal(signal.SIGQUIT, signal.SIG_IGN); (folder / 'on').touch();"
        " time.sleep(1); signal.signal(signal.SIGQUIT, signal.SIG_DFL); time.sleep(60)",
    }.items():
        lines = ["#!" + sys.executable, "import pathlib, signal, time"]
        lines += [f"folder = pathlib.Path({str(tmp_path)!r})", code]
        (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        (tmp_path / name).chmod(0o755)
        programs[name] = tmp_path / name
    command = ["/bin/sh", "-c", servers._SUPERVISE, "sh", folder, *programs.values()]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        while not (tmp_path / "on").exists():
            assert process.poll() is None
            time.sleep(0.05)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=20)
    assert not folder.exists()


def fetch(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.slow
def test_tables_keys_values_and_views_of_postgres_are_converted(
    source: GivenDatabase, tmp_path: Path
) -> None:
    assert source.engine is not None
    path = tmp_path / "made.sqlite"
    made = {table.name: table for table in convert(source.engine, path)}
    first = (1, "✨", *[None] * 8, "infinity", *[None] * 9)
    assert fetch(path, "SELECT * FROM ship") == [first, ROW]
    assert fetch(path, "SELECT * FROM sales_ship") == [(1, 1), (1, 2)]
    assert fetch(path, "SELECT * FROM log") == [(1, "2024-05-05")]
    assert fetch(path, "SELECT name, year FROM calm") == [("Zoë", 2024)]
    assert fetch(path, "SELECT tag FROM tag") == [("a",), ("b",)]
    assert "log_2024" not in made
    left_out, zone = source.engine.notes
    assert left_out == "public.bare is left out: it has no column"
    assert zone.startswith("times with a zone are in UTC: the dump does not say the time zone")
    with closing(open_database(path)) as connection:
        schema = read_schema(connection)
    references = {table.name: table.foreign_keys for table in schema.tables}
    assert references["sales_ship"] == (ForeignKey(("id",), "ship", ("id",)),)
    assert references["line"] == (ForeignKey(("id", "order"), "sales_ship", ("id", "order")),)
    views = {table.name for table in schema.tables if table.is_view}
    assert views == {"calm", "names"}
    assert sorted(words.partition(":")[0] for words in made["ship"].lost) == [
        "1 of born",
        "1 of d",
        "big",
    ]


@pytest.mark.slow
def test_dump_that_makes_a_database_needs_neither_it_nor_its_locale(dumps: Path) -> None:
    text = (dumps / "made.sql").read_text(encoding="utf-8")
    assert "xx_XX" in text
    assert "\\connect ships" in text
    with servers.load_dump(dumps / "made.sql", is_text=True) as loaded:
        assert loaded.notes == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ships.dump", "ships.tar", "ships", "ships.sql.gz"])
def test_each_format_of_a_dump_is_read(dumps: Path, name: str) -> None:
    if name.endswith(".gz"):
        with gzip.open(dumps / name, "wb") as packed:
            packed.write((dumps / "ships.sql").read_bytes())
    with ExitStack() as stack:
        opened = open_source(str(dumps / name), stack, without=Path("questions"), engine="sqlite")
        assert (opened.name, opened.kind) == ("ships", "a dump of Postgres")
        assert opened.engine is not None
        assert len(opened.engine.execute("SELECT name FROM ship", max_rows=9)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ('SELECT "Größe" / 5, ok, born FROM ship WHERE id = 2', None),
        ('SELECT "order" FROM sales.ship ORDER BY 1 DESC', None),
        ("SELECT date_trunc('month', noted), noted::date FROM ship", None),
        ("SELECT born + interval '1 month' FROM ship WHERE id = 2", None),
        ('SELECT DISTINCT ON (id) id, "order" FROM sales.ship ORDER BY id, "order" DESC', None),
        ("SELECT name FROM ship WHERE name LIKE '%o%' -- 100 %", None),
        ("SELECT tags FROM ship", None),
        ("SELECT name FROM ship WHERE 'a' = ANY(tags)", "no rule says what any is in SQLite"),
        ("SELECT name FROM ship WHERE name LIKE 'z%'", None),
        ("SELECT name FROM ship WHERE sea = 'calm'", None),
        ("SELECT name FROM ship ORDER BY sea", "compares label"),
        ("SELECT name FROM ship WHERE key = 'x'", "compares other"),
        ("SELECT nothing FROM ship", 'fails in postgres: column "nothing" does not exist'),
        ("SELECT extra ->> 'k' FROM ship WHERE id = 2", "no rule says what jsonpathkey"),
    ],
)
def test_gold_of_postgres_is_executed_there_and_here(
    source: GivenDatabase, tmp_path: Path, sql: str, words: str | None
) -> None:
    engine = source.engine
    assert engine is not None
    renaming = read_renaming(engine, convert(engine, tmp_path / "made.sqlite"))
    with Comparer(tmp_path / "made.sqlite", engine) as comparer:
        differs = comparer.check(sql, "postgres", renaming).differs
    if words is None:
        assert differs is None
    else:
        assert differs is not None
        assert words in (differs.get("error") or differs["detail"])


@pytest.mark.slow
def test_nothing_is_written_there(source: GivenDatabase) -> None:
    engine = source.engine
    assert engine is not None
    for sql in (
        "DELETE FROM ship",
        "WITH gone AS (DELETE FROM ship RETURNING 1) SELECT * FROM gone",
        "SELECT 1; COMMIT; DELETE FROM ship",
        "SELECT 1 FROM ship; COMMIT; BEGIN READ WRITE; DELETE FROM ship; COMMIT; SELECT 1",
        "SELECT 1) AS a; ROLLBACK; DELETE FROM ship --",
        "COPY ship TO PROGRAM 'cat'",
        "SELECT * INTO fleet FROM ship",
        "SELECT 1 FROM ship FOR UPDATE",
        "EXPLAIN ANALYZE SELECT 1",
        "",
    ):
        with pytest.raises(EngineError, match=r"expected one query|must not contain|cannot"):
            engine.execute(sql, max_rows=1)
    for sql in (
        "SELECT 1 AS a; -- done",
        "VALUES (1)",
        "(SELECT 1)",
        "WITH a AS (SELECT 1) TABLE a",
    ):
        assert engine.execute(sql, max_rows=1) == [(1,)]
    assert len(engine.execute("SELECT 1 FROM ship", max_rows=9)) == 2


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie, which a container may keep."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        return state.split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_server_ends_and_what_it_had_goes_with_it(dumps: Path) -> None:
    with servers.load_dump(dumps / "ships.sql", is_text=True) as loaded:
        folder = Path(re.findall("host=([^&]*)", loaded.url)[0])
        pid = int((folder / "data/postmaster.pid").read_text(encoding="utf-8").split()[0])
        assert is_running(pid)
    assert not is_running(pid)
    assert not folder.exists()


@pytest.mark.slow
def test_dump_of_other_roles_loads_and_one_without_tables_is_told(
    dumps: Path, tmp_path: Path
) -> None:
    dump = tmp_path / "a.sql"
    text = "CREATE TABLE t (a int);\nALTER TABLE t OWNER TO kim;\nCREATE EXTENSION nowhere;\n"
    dump.write_text(text, encoding="utf-8")
    with servers.load_dump(dump, is_text=True) as loaded:
        (note,) = loaded.notes
        assert note.startswith('while the dump was loaded: extension "nowhere" is not available')
    dump.write_text("-- PostgreSQL database dump\nSELECT nothing;\n", encoding="utf-8")
    with (
        pytest.raises(InputError, match=r"a\.sql: makes no table: .*column \"nothing\" does not"),
        servers.load_dump(dump, is_text=True),
    ):
        pass


def test_without_postgres_a_dump_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "_FOLDERS", ())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    dump = tmp_path / "a.sql"
    dump.write_text("--\n-- PostgreSQL database dump\n--\n", encoding="utf-8")
    words = r"a\.sql: a dump of Postgres, .*apt-get install postgresql.*postgresql://"
    with ExitStack() as stack, pytest.raises(InputError, match=words):
        open_source(str(dump), stack, without=Path("questions"), engine="sqlite")


MYSQL_TABLES = """
CREATE TABLE ship (id int PRIMARY KEY, name varchar(20) NOT NULL UNIQUE, weight decimal(6,2),
    born date, at time, ok tinyint(1), flag bit(3), kind enum('a','b'), big bigint unsigned,
    bytes blob, `order` int COMMENT 'its place');
INSERT INTO ship VALUES (1, 'Zoë', 12.00, '2024-02-29', '-10:30:15', 1, b'101', 'b',
    18446744073709551615, x'AA00', 2);
CREATE TABLE leg (ship int, n int, PRIMARY KEY (ship, n), FOREIGN KEY (ship) REFERENCES ship (id));
INSERT INTO leg VALUES (1, 2), (1, 1);
CREATE TABLE stop (ship int, n int, FOREIGN KEY (ship, n) REFERENCES leg (ship, n));
CREATE TABLE sample (id int PRIMARY KEY, x float, y float(7,4), day date);
SET sql_mode = '';
INSERT INTO sample VALUES (1, 0.1, 123.4567, '0000-00-00'), (2, 16777215, -1, '2024-02-29'),
    (3, 3.1415927, NULL, NULL);
CREATE VIEW old AS SELECT name, YEAR(born) AS y FROM ship WHERE ok = 1;
CREATE USER kim@localhost IDENTIFIED BY 'p@ss';
GRANT SELECT, SHOW VIEW ON *.* TO kim@localhost;
"""


@pytest.fixture
def mariadb(tmp_path: Path) -> Iterator[str]:
    """The URL of a database of MariaDB, whose server ends with the test."""
    pytest.importorskip("pymysql", reason="needs the extra `convert`")
    names = ("mariadb-install-db", "mariadbd", "mariadb", "mariadb-admin")
    if not all(map(shutil.which, names)):
        pytest.skip("needs MariaDB: apt-get install mariadb-server")
    data, place = tmp_path / "data", f"--socket={tmp_path / 's'}"
    run(tmp_path, names[0], "--no-defaults", "--user=root", f"--datadir={data}", "--skip-test-db")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    options = (f"--datadir={data}", place, f"--port={port}", "--bind-address=127.0.0.1")
    server = subprocess.Popen([names[1], "--no-defaults", "--user=root", *options])
    try:
        run(tmp_path, names[3], "--no-defaults", place, "--wait=30", "--connect-timeout=5", "ping")
        client = ("mariadb", "--no-defaults", place, "--default-character-set=utf8mb4")
        run(tmp_path, *client, "-e", "CREATE DATABASE fleet CHARACTER SET utf8mb4")
        (tmp_path / "tables.sql").write_text(MYSQL_TABLES, encoding="utf-8")
        run(tmp_path, *client, "-e", f"source {tmp_path / 'tables.sql'}", "fleet")
        yield f"mysql://kim:p%40ss@127.0.0.1:{port}/fleet"
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.mark.slow
def test_database_of_mysql_is_read_by_its_url(mariadb: str, tmp_path: Path) -> None:
    path = tmp_path / "made.sqlite"
    with ExitStack() as stack:
        source = open_source(mariadb, stack, without=Path("questions"), engine="sqlite")
        assert (source.name, source.place) == ("fleet", mariadb.replace("p%40ss", "..."))
        engine = source.engine
        assert engine is not None
        made = {table.name: table for table in convert(engine, path)}
        assert fetch(path, "SELECT * FROM ship") == [
            (1, "Zoë", 12.0, "2024-02-29", "-10:30:15", 1, 5, "b", str(2**64 - 1), b"\xaa\x00", 2)
        ]
        assert fetch(path, "SELECT * FROM leg") == [(1, 1), (1, 2)]
        assert fetch(path, "SELECT x, y, day FROM sample") == [
            *((0.1, 123.4567, "0000-00-00"), (16777215.0, -1.0, "2024-02-29")),
            (3.1415927, None, None),
        ]
        assert made["sample"].lost == [f"1 of day: {NO_TIME}"]
        assert made["leg"].keys[0] == 'PRIMARY KEY ("ship", "n")'
        assert made["stop"].keys == ['FOREIGN KEY ("ship", "n") REFERENCES "leg" ("ship", "n")']
        assert made["old"].kind == "view"
        assert made["old"].lost == []
        renaming = read_renaming(engine, list(made.values()))
        with Comparer(path, engine) as comparer:
            for sql in (
                "SELECT IF(ok, 'a', 'b'), `order` / 5 FROM ship",
                "SELECT YEAR(born), DATE_FORMAT(born, '%Y-%m') FROM ship",
                "SELECT flag, at FROM fleet.ship LIMIT 0, 1",
            ):
                assert comparer.check(sql, "mysql", renaming).differs is None, sql
            differs = comparer.check("SELECT 1 FROM ship WHERE name = 'zoe'", "mysql", renaming)
            assert differs.differs is not None
            assert "compares text without regard to case" in differs.differs["error"]
        with pytest.raises(EngineError):
            engine.execute("DELETE FROM ship", max_rows=1)
