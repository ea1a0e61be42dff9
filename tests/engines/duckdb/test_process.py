"""The process of DuckDB is shared by threads and not by forks, and it ends with its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("duckdb", reason="needs the extra `duckdb`")

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.duckdb import process
from answerkey.engines.duckdb.engine import ENGINE
from answerkey.engines.duckdb.process import ProcessDiedError

ROOT = Path(__file__).parents[3]
ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b"
OWNER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from answerkey.engines.duckdb import process
from answerkey.engines.duckdb.engine import ENGINE

database = ENGINE.open(Path(sys.argv[2]))
database.execute("SELECT 1")
print(process._SHARED.process.pid, flush=True)
database.execute(sys.argv[3])
"""


def read_pid() -> int:
    assert process._SHARED.process is not None
    return process._SHARED.process.pid


def is_there(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_there(pid):
        assert time.monotonic() < deadline, "the process of DuckDB is still there"
        time.sleep(0.05)


@pytest.mark.parametrize("sql", ["SELECT 1", ENDLESS])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_its_parent(shop: Path, sql: str, number: int) -> None:
    command = [sys.executable, "-c", OWNER, str(ROOT), str(shop), sql]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        time.sleep(0.2)
        owner.send_signal(number)
    wait_for_end(pid)


def test_all_databases_and_threads_share_it(shop: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb.sql"
    other.write_text("CREATE TABLE t AS SELECT 7 AS a;")
    results: list[object] = []

    def work(number: int) -> None:
        for index in range(20):
            results.append(first.execute(f"SELECT {number * index}") == [(number * index,)])
            results.append(second.execute("SELECT a FROM t") == [(7,)])

    with ENGINE.open(shop) as first, ENGINE.open(other) as second:
        first.execute("SELECT 1")
        pid = read_pid()
        threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert read_pid() == pid
        with pytest.raises(QueryError):
            first.execute("SELECT * FROM t")
    assert len(results) == 160
    assert all(results)


def test_a_fork_has_its_own(shop: Path) -> None:
    with ENGINE.open(shop) as database:
        database.execute("SELECT 1")
        pid = read_pid()
        child = os.fork()
        if not child:
            rows = database.execute("SELECT count(*) FROM ship")
            is_other = read_pid() != pid
            process._SHARED.end()
            os._exit(0 if rows == [(3,)] and is_other else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert database.execute("SELECT 2") == [(2,)]
        assert read_pid() == pid


def test_a_query_whose_process_is_killed_is_tried_again(shop: Path) -> None:
    with ENGINE.open(shop) as database:
        database.execute("SELECT 1")
        os.kill(read_pid(), signal.SIGKILL)
        assert database.execute("SELECT 2") == [(2,)]


def kill_again_and_again(number: int, over: threading.Event) -> None:
    known: set[int] = set()
    while not over.wait(0.05):
        shared = process._SHARED.process
        if shared is not None and shared.pid not in known and is_there(shared.pid):
            time.sleep(0.6)
            known.add(shared.pid)
            os.kill(shared.pid, number)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_who_is_killed_twice_raises_what_is_no_fact(shop: Path, number: int) -> None:
    over = threading.Event()
    killer = threading.Thread(target=kill_again_and_again, args=[number, over])
    with ENGINE.open(shop) as database:
        killer.start()
        try:
            if number == signal.SIGKILL:
                with pytest.raises(ProcessDiedError):
                    database.execute(ENDLESS)
            else:  # as a query does that overflows the stack of DuckDB
                with pytest.raises(QueryError) as caught:
                    database.execute(ENDLESS)
                assert caught.value.reason is Reason.HEAP_EXCEEDED
        finally:
            over.set()
            killer.join(60)
        assert database.execute("SELECT 2") == [(2,)]


def test_seconds_are_the_last_resort(shop: Path) -> None:
    with ENGINE.open(shop, Limits(max_cpu_s=60, max_seconds=1)) as database:
        with pytest.raises(QueryError) as caught:
            database.execute(ENDLESS)
        assert caught.value.reason is Reason.TIME_EXCEEDED
        assert caught.value.detail == "more than 1 seconds"
        assert database.execute("SELECT 2") == [(2,)]


def test_memory_of_other_databases_does_not_count(tmp_path: Path) -> None:
    limits = Limits(max_heap_bytes=100_000_000)
    sql = "SELECT len(list(i)) FROM range(2000000) r(i)"
    databases = []
    for number in range(6):
        path = tmp_path / f"{number}.duckdb.sql"
        path.write_text(f"CREATE TABLE t AS SELECT i + {number} AS a FROM range(500000) r(i);")
        databases.append(ENGINE.open(path, limits))
    for database in databases:
        assert database.execute(sql) == [(2000000,)]
        assert database.execute("SELECT count(DISTINCT a) FROM t") == [(500000,)]
    for database in databases:
        database.close()


def test_one_file_is_open_twice(shop: Path) -> None:
    large, small = (Limits(max_heap_bytes=size) for size in (300_000_000, 100_000_000))
    sql = "SELECT len(list(i)) FROM range(6000000) r(i)"
    with ENGINE.open(shop, large) as first, ENGINE.open(shop, small) as second:
        for database in (first, second, first):
            assert database.execute("SELECT count(*) FROM trip") == [(2,)]
        with ENGINE.open(shop, large) as third:
            assert third.execute(sql) == first.execute(sql) == [(6000000,)]
        with pytest.raises(QueryError) as caught:
            second.execute(sql)
        assert caught.value.reason is Reason.HEAP_EXCEEDED
        assert first.execute(sql) == [(6000000,)]
    with (
        ENGINE.open(shop, now="2025-01-30") as first,
        ENGINE.open(shop, now="2025-01-31") as second,
        ENGINE.open(shop) as third,
    ):
        for _ in range(2):
            assert first.execute("SELECT current_date") == [("2025-01-30",)]
            assert second.execute("SELECT current_date") == [("2025-01-31",)]
            with pytest.raises(QueryError):
                third.execute("SELECT current_date")


def test_a_closed_database_stays_closed(shop: Path) -> None:
    database = ENGINE.open(shop)
    database.close()
    with pytest.raises(Exception, match="is closed"):
        database.execute("SELECT 1")


def test_two_runs_give_the_same_bytes(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.duckdb.sql"
    path.write_text(
        "CREATE TABLE t AS SELECT i, (i * 7919) % 1000 AS k, sqrt(i) AS x FROM range(300000) r(i);"
    )
    queries = [
        "SELECT k, sum(x) FROM t GROUP BY k",
        "SELECT list(DISTINCT k)[:50] FROM t",
        "SELECT a.i FROM t a JOIN t b ON a.k = b.i LIMIT 1000",
        "SELECT i FROM t LIMIT 100",
        "SELECT avg(x), stddev(x), approx_quantile(x, 0.3) FROM t",
    ]
    answers = []
    for _ in range(2):
        process._SHARED.end()
        with ENGINE.open(path) as database:
            answers.append([database.execute(sql) for sql in queries])
    assert repr(answers[0]) == repr(answers[1])
