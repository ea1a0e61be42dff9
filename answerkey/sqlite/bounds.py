"""Bounds: what foreign SQL may use while it runs, and by which of them it was ended.

Those that decide what is kept are counted by SQLite (virtual machine steps, bytes), so that they
fall the same on every machine. Seconds are only the last resort, for a single step that takes for
ever.
"""

from __future__ import annotations

import math
import mmap
import sqlite3
from types import TracebackType
from typing import Protocol, Self

from answerkey.sqlite.reasons import QueryReason
from answerkey.sqlite.watchdog import Watchdog

# What a query may be before it runs: nothing interrupts what compiles or parses it.
MAX_SQL_BYTES = 100_000
MAX_COLUMNS = 1000  # of each SELECT, once every `*` is what it stands for

_STEPS_BETWEEN_CHECKS = 1000
WATCHDOG = Watchdog()


class Bounds(Protocol):
    """Virtual machine steps, rounded up to thousands; bytes of SQLite's heap, which hold for the
    whole process and can only be lowered (SQLite manual, PRAGMA hard_heap_limit); seconds."""

    @property
    def max_steps(self) -> int: ...
    @property
    def max_heap_bytes(self) -> int: ...
    @property
    def max_seconds(self) -> int: ...


def bound_memory(connection: sqlite3.Connection, bounds: Bounds) -> None:
    """Bound the heap, and keep what SQLite sorts there: it would fill a disk otherwise."""
    connection.execute(f"PRAGMA hard_heap_limit = {bounds.max_heap_bytes};").fetchall()
    connection.execute("PRAGMA temp_store = MEMORY;")


class BoundedExecution:
    """What runs on a connection inside the block has one budget of steps and of seconds."""

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

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        if self._watchdog is not None:
            self._watchdog.release()

    @property
    def steps(self) -> int:
        """The virtual machine steps so far, rounded up to thousands."""
        return (self._checks - self._checks_left + 1) * _STEPS_BETWEEN_CHECKS

    def _count_down(self) -> bool:
        self._checks_left -= 1
        return self._checks_left < 0

    def explain(self, error: Exception) -> tuple[QueryReason, str] | None:
        """The bound that an exception comes from, in a code and in words; None for another one.

        Raises:
            MemoryError: where memory ended before the bound: the machine has less of it.
            KeyboardInterrupt: where somebody stops the run: Python swallows Ctrl-C in a callback of
                SQLite.
        """
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, MemoryError):
            if not _has_memory(self._bounds.max_heap_bytes):
                raise MemoryError(
                    f"less memory than SQLite may use: {self._bounds.max_heap_bytes} bytes"
                ) from error
            detail = f"more than {self._bounds.max_heap_bytes} bytes of heap"
            return QueryReason.HEAP_EXCEEDED, detail
        if code == sqlite3.SQLITE_INTERRUPT:
            if self._checks_left < 0:
                detail = f"more than {self._max_steps} virtual machine steps"
                return QueryReason.STEP_BUDGET_EXCEEDED, detail
            if self._watchdog is None or not self._watchdog.has_fired:
                raise KeyboardInterrupt from error
            return QueryReason.TIME_EXCEEDED, f"more than {self._bounds.max_seconds} seconds"
        if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            return QueryReason.VALUE_TOO_LARGE, str(error)
        return None


def _has_memory(size_bytes: int) -> bool:
    """Whether the system would give this process so much memory; it is not touched."""
    try:
        mmap.mmap(-1, size_bytes).close()
    except (OSError, MemoryError, OverflowError):
        return False
    return True
