"""What all engines share: an open database, the limits of a query, and errors."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from answerkey.base.kinds import From1
from answerkey.base.reasons import Reason

# Limits of the text of a query: compiling and parsing cannot be interrupted.
MAX_SQL_BYTES = 100_000
MAX_COLUMNS = 1000  # of each SELECT, after every `*` is expanded


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one query.

    max_steps: SQLite virtual machine steps, rounded up to thousands.
    max_rows: rows of the answer.
    max_value_bytes: bytes of one value, in the answer or in an intermediate result.
    max_answer_bytes: bytes of the answer: those of its text, and 8 for every other value.
    max_heap_bytes: heap of SQLite. It holds for the whole process and can only be lowered
        (SQLite manual, PRAGMA hard_heap_limit).
    max_seconds: the last resort.
    max_cpu_s: seconds of CPU time, in an engine that counts no steps.
    """

    max_steps: From1 = 100_000_000
    max_rows: From1 = 20_000
    max_value_bytes: From1 = 1_000_000
    max_answer_bytes: From1 = 16_000_000
    max_heap_bytes: From1 = 536_870_912
    max_seconds: From1 = 120
    max_cpu_s: From1 = 10

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"limit {name}: expected a whole number from 1, found {value!r}")


# Set in processes that the run can lose. The process of a trainer is never one of them.
EXPENDABLE_VARIABLE = "ANSWERKEY_EXPENDABLE_PROCESS"
# Exit status of a worker whose query is overdue; no other end has this status.
OVERDUE_STATUS = 75
_SECONDS_BETWEEN_LOOKS = 1


@contextlib.contextmanager
def end_overdue(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer than these seconds and the run can lose the
    process: Python code that is not a query cannot be interrupted."""
    timer = threading.Timer(seconds, os._exit, [OVERDUE_STATUS])
    timer.daemon = True
    if is_expendable():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def end_with(parent: int) -> None:
    """End this process soon after its parent: a thread of its own runs this. A fork of the parent
    may hold the pipe open, so the end of the pipe is not enough; the kernel's signal would follow
    the parent's thread, not the parent."""
    while os.getppid() == parent:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os._exit(0)


def is_expendable() -> bool:
    """Return whether the run can lose this process."""
    return EXPENDABLE_VARIABLE in os.environ


# Engines raise it if a database is at fault. Its subclass `QueryError` says that a query is.
DatabaseError = sqlite3.Error
Value = int | float | str | None
EXACT_DIGITS = 15  # a decimal of at most so many digits is a float; a longer one is text
Row = tuple[Value, ...]


class QueryError(sqlite3.OperationalError):
    """A query without an answer: `reason` is a stable code, `detail` SQLite's words or numbers."""

    def __init__(self, reason: Reason, detail: str, database_name: str) -> None:
        super().__init__(reason, detail, database_name)  # the arguments that pickle passes on
        self.reason = reason
        self.detail = detail
        self.database_name = database_name

    def __str__(self) -> str:
        return f"SQL execution failed for {self.database_name}: {self.detail}"


class Database(Protocol):
    """One database opened for untrusted SQL; use it as a context manager.

    path: its file, or the SQL text of which it was built.
    steps: the steps of the last query that gave rows; None if the engine counts none.
    """

    @property
    def path(self) -> Path: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def steps(self) -> int | None: ...

    def execute(self, sql: str, *, max_steps: int | None = None) -> list[Row]:
        """Return all rows of one SELECT. max_steps replaces that of the limits, if the engine
        counts steps.

        Raises:
            QueryError: the query is refused, fails or exceeds a limit; with the reason.
        """

    def list_reads(self, sql: str) -> set[tuple[str, str]] | None:
        """Return (table, column) of everything that one SELECT reads, in lower case; None if it is
        refused. It is not executed. The column is "" if only rows are read, as by count(*)."""

    def close(self) -> None:
        """Close it; it stays closed."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
