"""Bounds of foreign SQL, and the watchdog."""

import contextlib
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from answerkey.base.reasons import Reason
from answerkey.engines.database import EXPENDABLE_VARIABLE, OVERDUE_STATUS, Limits, QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase, Watchdog
from tests.shared.paths import ROOT
from tests.shared.processes import heed_interrupts

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

COUNT_UP = (
    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n{limit}) SELECT {what} FROM n"
)
ENDLESS = COUNT_UP.format(limit="", what="count(*)")


def count_up(what, limit):
    return COUNT_UP.format(limit=f" LIMIT {limit}", what=what)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("bounds") / "fleet.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE ship (a, b); INSERT INTO ship VALUES (1, 'x')")
    return path


def verdict(path, sql, **limits):
    """The reason of a refusal, or None where there are rows; the connection works afterwards."""
    with GuardedDatabase(path, Limits(**limits)) as database:
        try:
            database.execute(sql)
        except QueryError as error:
            reason = error.reason
        else:
            reason = None
        assert database.execute("SELECT b FROM ship") == [("x",)]
    return reason


@pytest.mark.parametrize(
    "sql",
    [
        ENDLESS,
        COUNT_UP.format(limit="", what="max(x)"),
        COUNT_UP.format(limit="", what="x") + " ORDER BY x",
        COUNT_UP.format(limit="", what="x") + " WHERE x < 0",
        "WITH RECURSIVE n (x) AS (SELECT 1 UNION SELECT x + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT DISTINCT x FROM n",
        "SELECT count(*) FROM json_each('[" + "1," * 2000 + "1]') a, json_each('["
        + "1," * 2000 + "1]') b",
    ],
)  # fmt: skip
def test_query_without_end_is_stopped_by_its_steps(path, sql):
    assert verdict(path, sql, max_steps=1_000_000) is Reason.STEP_BUDGET_EXCEEDED


def test_budget_counts_steps_of_each_query_afresh(path):
    sql = count_up("count(*)", 20_000)
    with GuardedDatabase(path) as database:
        database.execute(sql)
        steps = database.steps
    with GuardedDatabase(path, Limits(max_steps=steps)) as database:
        assert [database.execute(sql) for _ in range(3)] == [[(20_000,)]] * 3
    assert verdict(path, sql, max_steps=steps - 2000) is Reason.STEP_BUDGET_EXCEEDED


@pytest.mark.parametrize(("rows", "reason"), [(99, None), (100, None), (101, Reason.TOO_MANY_ROWS)])
def test_row_cap_lets_through_what_it_says(path, rows, reason):
    assert verdict(path, count_up("x", rows), max_rows=100) is reason


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT '{'x' * 200_000}'",
        "SELECT zeroblob(1000000000)",
        "SELECT hex(zeroblob(600000))",
        "SELECT replace(hex(zeroblob(400000)), '0', '00')",
        "SELECT replace(replace(hex(zeroblob(200000)), '0', 'bb'), 'b', 'cc')",
        "SELECT hex(zeroblob(300000)) || hex(zeroblob(300000))",
        count_up("group_concat(hex(zeroblob(1000)))", 1000),
        count_up("json_group_array(hex(zeroblob(1000)))", 1000),
        count_up("length(group_concat(hex(zeroblob(1000))))", 1000),
        COUNT_UP.format(limit="", what="count(*)").replace("x + 1", "x || x"),
    ],
)  # fmt: skip
def test_value_over_its_cap_ends_the_query(path, sql):
    assert verdict(path, sql) is Reason.VALUE_TOO_LARGE


@pytest.mark.parametrize(("size", "reason"), [(998, None), (1002, Reason.VALUE_TOO_LARGE)])
def test_value_cap_lets_through_what_it_says(path, size, reason):
    assert verdict(path, f"SELECT hex(zeroblob({size // 2}))", max_value_bytes=1000) is reason


@pytest.mark.parametrize(
    ("what", "rows", "reason"),
    [
        ("'aaaaaaaaaa'", 100, None),
        ("'aaaaaaaaaa'", 101, Reason.ANSWER_TOO_LARGE),
        ("'ééééé'", 100, None),
        ("'ééééé'", 101, Reason.ANSWER_TOO_LARGE),
        ("x, NULL, 0.5", 41, None),  # 8 bytes for what is no text
        ("x, NULL, 0.5", 42, Reason.ANSWER_TOO_LARGE),
    ],
)
def test_answer_cap_counts_the_bytes_of_all_values(path, what, rows, reason):
    assert verdict(path, count_up(what, rows), max_answer_bytes=1000) is reason


HEAP = """
import pathlib, sys
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.database import Limits, QueryError
limits = Limits(max_heap_bytes=30_000_000)
queries = sys.stdin.read().split(";;")
with GuardedDatabase(pathlib.Path(sys.argv[1]), limits) as database:
    for sql in queries:
        try:
            database.execute(sql)
        except QueryError as error:
            print(error.reason)
        else:
            print("answered", sql[:60])
        assert database.execute("SELECT b FROM ship") == [("x",)]
status = pathlib.Path("/proc/self/status")  # ru_maxrss would include what the parent had
for line in status.read_text().splitlines() if status.is_file() else []:
    if line.startswith("VmHWM:"):
        assert int(line.split()[1]) < 200_000, line
"""


def double(reference, times=40):
    """CTEs that each refer twice to the one before: 2^times of them once SQLite spells them out."""
    ctes = ["c0 AS (SELECT 1 AS x)"]
    ctes += [f"c{n + 1} AS ({reference.format(f'c{n}')})" for n in range(times)]
    return f"WITH {', '.join(ctes)} SELECT count(*) FROM c{times}"


def test_heap_is_bounded_also_while_a_query_is_compiled(path):
    """In a process of its own: the limit holds for a whole process and can only be lowered."""
    queries = [
        count_up("hex(zeroblob(10000)) || x", 20_000) + " ORDER BY 1",
        count_up("count(DISTINCT hex(zeroblob(10000)) || x)", 20_000),
        double("SELECT l.x FROM {0} l, {0} r"),
        double("SELECT x FROM {0} UNION ALL SELECT x FROM {0}"),
        double("SELECT x FROM {0} UNION SELECT x FROM {0}"),
        double("SELECT (SELECT max(x) FROM {0}) + (SELECT min(x) FROM {0}) AS x"),
        double("SELECT DISTINCT l.x FROM {0} l LEFT JOIN {0} r ON l.x = r.x"),
    ]
    finished = subprocess.run(
        [sys.executable, "-c", HEAP, str(path)],
        input=";;".join(queries),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert finished.stdout.splitlines() == ["heap_exceeded"] * len(queries)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 50_000 + "1" + ")" * 40_000,
        "SELECT " + "NOT " * 20_000 + "1",
        "SELECT 1" + " + 1" * 20_000,
        "SELECT 1 WHERE " + " OR ".join(["1 = 2"] * 5000),
        "SELECT " + "(SELECT " * 9000 + "1" + ")" * 9000,
        "SELECT 1" + " UNION ALL SELECT 1" * 5000,
        "SELECT " + ", ".join(["1"] * 2001),
        "SELECT " + ", ".join(f"a AS a{n}" for n in range(3000)) + " FROM ship",
        "SELECT 1 FROM ship" + ", ship" * 5000,
        "SELECT 1 FROM " + ", ".join(f"ship s{n}" for n in range(100)),
        "SELECT coalesce(" + ", ".join(["1"] * 5000) + ")",
        "SELECT 'a' LIKE '" + "%a" * 600 + "'",
        "SELECT b FROM ship WHERE b GLOB '" + "*a" * 600 + "'",
    ],
    ids=lambda sql: sql[:30],
)
def test_query_past_a_limit_of_sqlite_is_an_error_of_its_sql(path, sql):
    assert verdict(path, sql) is Reason.SQL_ERROR


def test_query_past_its_seconds_is_stopped(path):
    assert verdict(path, ENDLESS, max_steps=10**15, max_seconds=1) is Reason.TIME_EXCEEDED


def test_interrupt_stops_the_run_and_is_no_verdict_on_the_query(path):
    """Python swallows Ctrl-C inside a callback of SQLite; it must not end as `time_exceeded`."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    limits = Limits(max_steps=10**15, max_seconds=30)
    with heed_interrupts(), GuardedDatabase(path, limits) as database:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            database.execute(ENDLESS)
        assert database.execute("SELECT b FROM ship") == [("x",)]


@pytest.mark.parametrize("name", Limits.__slots__)
def test_limit_that_is_no_whole_number_from_1_is_refused(name):
    for value in (0, -1, 1.0, 2.5, True, None, "10"):
        with pytest.raises(ValueError, match=f"limit {name}: expected a whole number from 1"):
            Limits(**{name: value})


ONE_LONG_STEP = "SELECT printf(replace(hex(zeroblob(500)), '0', '%.2000000000c'), 'x')"

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system"
)


@pytest.fixture
def connection():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def test_query_past_its_deadline_is_interrupted(connection):
    watchdog = Watchdog(interval_s=0.02)
    for _ in range(2):  # the second time with the same connection and thread
        watchdog.watch(connection, 0.2)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(ENDLESS).fetchall()
        assert watchdog.has_fired
        watchdog.release()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def interrupt_in_child(watchdog, patience_s, sql):
    """Exits with 0 where the query was interrupted."""
    watchdog.patience_s = patience_s
    connection = sqlite3.connect(":memory:")
    watchdog.watch(connection, 0.2)
    try:
        connection.execute(sql).fetchall()
    except sqlite3.OperationalError:
        sys.exit(0)
    sys.exit(3)


def run_child(watchdog, patience_s, sql):
    context = multiprocessing.get_context("fork")
    child = context.Process(target=interrupt_in_child, args=(watchdog, patience_s, sql))
    child.start()
    child.join(60)
    child.kill()
    return child.exitcode


@needs_fork
def test_watchdog_works_in_a_forked_child_and_still_in_its_parent(connection):
    watchdog = Watchdog(interval_s=0.02)
    watchdog.watch(connection, 30)
    assert run_child(watchdog, 60, ENDLESS) == 0
    watchdog.watch(connection, 0.1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(ENDLESS).fetchall()
    watchdog.release()


@needs_fork
def test_child_that_is_forked_while_its_parent_holds_the_lock_does_not_wait_for_it(connection):
    watchdog = Watchdog(interval_s=0.02)
    watchdog.watch(connection, 30)
    with watchdog.lock:
        assert run_child(watchdog, 60, ENDLESS) == 0
    watchdog.release()


@needs_fork
def test_step_that_heeds_no_interrupt_ends_a_process_that_is_marked(connection, monkeypatch):
    monkeypatch.setenv(EXPENDABLE_VARIABLE, "1")
    assert run_child(Watchdog(interval_s=0.02), 0.2, ONE_LONG_STEP) == OVERDUE_STATUS


@needs_fork
def test_child_that_nobody_marked_is_not_ended(connection):
    child = os.fork()
    if not child:
        Watchdog(interval_s=0.02, patience_s=0.01).watch(connection, 0.01)
        time.sleep(0.5)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
