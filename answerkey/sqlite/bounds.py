"""Bounds: what foreign SQL may use while it runs, and why a query has no answer.

Bounds that decide what is kept are counted by SQLite (virtual machine steps, bytes), so that they
fall the same on every machine. Seconds are the last resort, for a single step without end.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, Self

from answerkey.base.errors import Reason

# Set in processes whose run goes on without them. A trainer's own process is none of ours to end.
EXPENDABLE_VARIABLE = "ANSWERKEY_EXPENDABLE_PROCESS"
# Exit status of a worker whose query is overdue; nothing else ends a process with this one.
OVERDUE_STATUS = 75


@dataclass(slots=True)
class Watchdog:
    """Interrupts a connection whose query is past its deadline, from a thread of its own.

    A single step may heed no interrupt and last for hours: printf('%.2000000000c', 'x') counts to
    its precision, as often as the format has it. After patience_s more such a query ends its
    process, if that is marked as a worker whose run goes on without the query, and only then.

    One query at a time: a process that executes several at once needs a watchdog for each.
    """

    interval_s: float = 0.25
    patience_s: float = 5.0
    pid: int = 0
    watched: tuple[sqlite3.Connection, float] | None = None
    has_fired: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Interrupt the connection's query in so many seconds, unless released before."""
        if self.pid != os.getpid():  # threads do not survive a fork
            self.pid = os.getpid()
            self.lock = threading.Lock()
            self.watched = None  # what the parent watched
            threading.Thread(target=self._run, name="sql-watchdog", daemon=True).start()
        with self.lock:
            self.has_fired = False
            self.watched = (connection, time.monotonic() + seconds)

    def release(self) -> None:
        with self.lock:
            self.watched = None

    def _run(self) -> None:
        while True:
            time.sleep(self.interval_s)
            with self.lock:
                if self.watched is None:
                    continue
                connection, deadline = self.watched
                overdue_s = time.monotonic() - deadline
                if overdue_s > 0:
                    self.has_fired = True
                    connection.interrupt()
                if overdue_s > self.patience_s and _is_expendable():
                    os._exit(OVERDUE_STATUS)


@contextlib.contextmanager
def end_overdue(seconds: float) -> Iterator[None]:
    """End this process if the block takes more than so many seconds and the run goes on without
    it: nothing interrupts Python code that is no query."""
    timer = threading.Timer(seconds, os._exit, [OVERDUE_STATUS])
    timer.daemon = True
    if _is_expendable():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _is_expendable() -> bool:
    return EXPENDABLE_VARIABLE in os.environ


# What a query may be before it runs: nothing interrupts what compiles or parses it.
MAX_SQL_BYTES = 100_000
MAX_COLUMNS = 1000  # of each SELECT, once every `*` is what it stands for

_STEPS_BETWEEN_CHECKS = 1000
WATCHDOG = Watchdog()


class Bounds(Protocol):
    """Virtual machine steps, rounded up to thousands; bytes of SQLite's heap, which hold for the
    whole process and can only be lowered (SQLite manual, PRAGMA hard_heap_limit); seconds."""

    max_steps: int
    max_heap_bytes: int
    max_seconds: int


def bound_memory(connection: sqlite3.Connection, bounds: Bounds) -> None:
    """Bound the heap, and keep what SQLite sorts there: it would fill a disk otherwise."""
    connection.execute(f"PRAGMA hard_heap_limit = {bounds.max_heap_bytes};").fetchall()
    connection.execute("PRAGMA temp_store = MEMORY;")


class BoundedExecution:
    """A block in which a connection has one budget of steps and of seconds."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        bounds: Bounds,
        *,
        max_steps: int | None = None,
        watchdog: Watchdog | None = WATCHDOG,
    ) -> None:
        self._connection = connection
        self._bounds = bounds
        self._watchdog = watchdog
        self._max_steps = max_steps or bounds.max_steps
        self._checks = math.ceil(self._max_steps / _STEPS_BETWEEN_CHECKS)
        self._checks_left = self._checks

    def __enter__(self) -> Self:
        self._connection.set_progress_handler(self._count_down, _STEPS_BETWEEN_CHECKS)
        if self._watchdog is not None:
            self._watchdog.watch(self._connection, self._bounds.max_seconds)
        return self

    def __exit__(self, *_: object) -> None:
        if self._watchdog is not None:
            self._watchdog.release()

    @property
    def steps(self) -> int:
        """The virtual machine steps so far, rounded up to thousands."""
        return (self._checks - self._checks_left + 1) * _STEPS_BETWEEN_CHECKS

    def _count_down(self) -> bool:
        self._checks_left -= 1
        return self._checks_left < 0

    def explain(self, error: Exception) -> tuple[Reason, str] | None:
        """Return the bound that an exception comes from, in a code and in words, or None.

        Raises:
            MemoryError: the machine has less memory than the bound.
            KeyboardInterrupt: somebody stops the run: Python swallows Ctrl-C in a callback of
                SQLite.
        """
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, MemoryError):
            if not _has_memory(self._bounds.max_heap_bytes):
                raise MemoryError(
                    f"less memory than SQLite may use: {self._bounds.max_heap_bytes} bytes"
                ) from error
            detail = f"more than {self._bounds.max_heap_bytes} bytes of heap"
            return Reason.HEAP_EXCEEDED, detail
        if code == sqlite3.SQLITE_INTERRUPT:
            if self._checks_left < 0:
                detail = f"more than {self._max_steps} virtual machine steps"
                return Reason.STEP_BUDGET_EXCEEDED, detail
            if self._watchdog is None or not self._watchdog.has_fired:
                raise KeyboardInterrupt from error
            return Reason.TIME_EXCEEDED, f"more than {self._bounds.max_seconds} seconds"
        if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            return Reason.VALUE_TOO_LARGE, str(error)
        return None


def _has_memory(size_bytes: int) -> bool:
    """Whether the system would give this process so much memory; it is not touched."""
    try:
        mmap.mmap(-1, size_bytes).close()
    except (OSError, MemoryError, OverflowError):
        return False
    return True
