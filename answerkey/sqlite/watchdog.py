"""Watchdog: the last resort against a query that no count of steps ends."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

# Set in processes whose run goes on without them. What others call a worker, such as the process of
# a trainer, is none of ours to end.
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
        """Stop watching."""
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
    """End this process where the block takes more than so many seconds, if it is one whose run goes
    on without it: nothing interrupts Python code that is no query."""
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
