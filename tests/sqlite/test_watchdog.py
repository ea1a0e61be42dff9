import contextlib
import multiprocessing
import os
import sqlite3
import sys
import threading
import time

import pytest

from answerkey.sqlite.bounds import EXPENDABLE_VARIABLE, OVERDUE_STATUS, Watchdog

ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
ONE_LONG_STEP = "SELECT printf(replace(hex(zeroblob(500)), '0', '%.2000000000c'), 'x')"

needs_fork = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system"
)
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


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


def test_query_after_one_that_was_interrupted_starts_anew(connection):
    watchdog = Watchdog(interval_s=0.02)
    watchdog.watch(connection, 0)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(ENDLESS).fetchall()
    watchdog.release()
    watchdog.watch(connection, 30)
    assert not watchdog.has_fired
    watchdog.release()


def test_one_thread_watches_all_queries_of_a_process(connection):
    watchdog = Watchdog(interval_s=0.02)
    watchdog.watch(connection, 30)
    before = set(threading.enumerate())  # of which others may end meanwhile
    for _ in range(3):
        watchdog.release()
        watchdog.watch(connection, 30)
    assert not set(threading.enumerate()) - before
    watchdog.release()


def test_released_query_is_left_alone(connection):
    watchdog = Watchdog(interval_s=0.02)
    watchdog.watch(connection, 0.1)
    watchdog.release()
    cursor = connection.execute(ENDLESS.replace("count(*)", "x"))
    until = time.monotonic() + 0.5
    assert any(time.monotonic() > until for _ in cursor)
    assert not watchdog.has_fired


def test_other_connection_is_left_alone(connection):
    watchdog = Watchdog(interval_s=0.02)
    with contextlib.closing(sqlite3.connect(":memory:")) as other:
        watchdog.watch(other, 0.05)
        cursor = connection.execute(ENDLESS.replace("count(*)", "x"))
        until = time.monotonic() + 0.3
        assert any(time.monotonic() > until for _ in cursor)
        watchdog.release()


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


@needs_fork
def test_process_that_is_marked_as_expendable_is_ended(monkeypatch, connection):
    monkeypatch.setenv(EXPENDABLE_VARIABLE, "1")
    child = os.fork()
    if not child:
        Watchdog(interval_s=0.02, patience_s=0.01).watch(connection, 0.01)
        time.sleep(60)
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == OVERDUE_STATUS
