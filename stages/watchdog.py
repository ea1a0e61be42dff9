"""Watchdog: the last resort against a query that no count of steps ends."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Watchdog:
    """Interrupts a connection whose query is past its deadline, from a thread of its own.

    One query at a time: a process that executes several at once needs a watchdog for each.
    """

    interval_s: float = 0.25
    pid: int = 0
    watched: tuple[sqlite3.Connection, float] | None = None
    has_fired: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, connection: sqlite3.Connection, seconds: float) -> None:
        if self.pid != os.getpid():  # threads do not survive a fork
            self.pid = os.getpid()
            self.lock = threading.Lock()
            self.watched = None  # what the parent watched
            threading.Thread(target=self._run, name="sql-watchdog", daemon=True).start()
        with self.lock:
            self.has_fired = False
            self.watched = (connection, time.monotonic() + seconds)

    def release(self) -> bool:
        """Stop watching; whether the deadline had passed."""
        with self.lock:
            self.watched = None
            return self.has_fired

    def _run(self) -> None:
        while True:
            time.sleep(self.interval_s)
            with self.lock:
                if self.watched is not None and time.monotonic() > self.watched[1]:
                    self.has_fired = True
                    self.watched[0].interrupt()
