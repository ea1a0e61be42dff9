"""An open database of DuckDB, whose queries run in another process."""

from __future__ import annotations

import itertools
import signal
import sqlite3
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError, Row
from answerkey.engines.duckdb.messages import (
    CORRUPT,
    FAILED,
    LOST,
    OK,
    REFUSED,
    REFUSED_ROWS,
    Bounds,
    Spec,
)
from answerkey.engines.duckdb.process import (
    ProcessDiedError,
    ask_shared,
    close_shared,
    hold_shared,
)
from answerkey.engines.engine import RefusedRowsError

_NUMBERS = itertools.count(1)
# Signals by which a process ends itself: its query is at fault, and not who ended it.
_OWN_FAULTS = {
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGFPE, signal.SIGILL)
} | {-getattr(signal, "SIGBUS", signal.SIGSEGV)}


def read_bounds(limits: Limits) -> Bounds:
    return Bounds(
        limits.max_rows,
        limits.max_value_bytes,
        limits.max_answer_bytes,
        limits.max_heap_bytes,
        limits.max_cpu_s,
    )


class DuckDatabase:
    """A database opened for untrusted SQL; use it as a context manager.

    path: the SQL text of which it was built.
    spec: how the process of DuckDB opens it.
    """

    def __init__(self, path: Path, limits: Limits, spec: Spec) -> None:
        self.path = path
        self.limits = limits
        self._spec = spec
        self._number = next(_NUMBERS)
        self._bounds = read_bounds(limits)
        self._close = weakref.finalize(self, close_shared, self._number)

    @property
    def steps(self) -> int | None:
        """Return None: DuckDB counts no steps."""
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._close()

    def execute(self, sql: str, *, max_steps: int | None = None) -> list[Row]:
        """Return all rows of one SELECT.

        Raises:
            QueryError: the query is refused, fails or exceeds a limit; with the reason.
            ProcessDiedError: the process of DuckDB was ended, and not by the query.
        """
        rows: list[Row] = self._run("execute", sql)
        return rows

    def list_reads(self, sql: str) -> set[tuple[str, str]] | None:
        """Return (table, column) of everything that one SELECT reads, in lower case; None if it is
        refused. Views are followed to their tables."""
        try:
            reads = self._run("list_reads", sql)
        except QueryError:
            return None
        return None if reads is None else set(reads)

    def _run(self, operation: str, *arguments: Any) -> Any:
        if not self._close.alive:
            raise sqlite3.ProgrammingError(f"{self.path} is closed")
        if operation in ("execute", "list_reads") and not _is_encodable(arguments[0]):
            raise self._refuse(Reason.UNDECODABLE_TEXT, "text or a name that is not UTF-8")
        request = (operation, self._bounds, self._number, self._spec, *arguments)
        with hold_shared():
            try:
                reply = self._ask(request, anew=False)
            except ProcessDiedError as death:
                self._raise_overdue(death)
                try:  # once more, without other databases
                    reply = self._ask(request, anew=True)
                except ProcessDiedError as second:
                    self._raise_overdue(second)
                    if second.status not in _OWN_FAULTS:
                        raise
                    detail = f"DuckDB ends at it: signal {-second.status}"
                    raise self._refuse(Reason.HEAP_EXCEEDED, detail) from None
        return self._read_reply(reply)

    def _ask(self, request: tuple[Any, ...], *, anew: bool) -> Any:
        return ask_shared(request, self.limits.max_seconds, anew=anew)

    def _raise_overdue(self, death: ProcessDiedError) -> None:
        if death.is_overdue:
            limits = self.limits
            detail = (
                f"more than {limits.max_cpu_s} seconds of CPU time"
                if death.status == -signal.SIGPROF
                else f"more than {limits.max_seconds} seconds"
            )
            raise self._refuse(Reason.TIME_EXCEEDED, detail) from None

    def _refuse(self, reason: Reason, detail: str) -> QueryError:
        return QueryError(reason, detail, _name(self.path))

    def _read_reply(self, reply: Any) -> Any:
        kind, *values = reply
        if kind == OK:
            return values[0]
        if kind == REFUSED:
            reason, detail = values
            raise self._refuse(Reason(reason), detail)
        raise explain_reply(self.path, kind, *values)


def explain_reply(path: Path, kind: str, words: str) -> Exception:
    """Return the exception for a reply that has no result."""
    if kind == CORRUPT:
        return sqlite3.DatabaseError(f"Corrupt database: {path}: {words}")
    if kind == REFUSED_ROWS:
        return RefusedRowsError(words)
    if kind == FAILED:
        return RuntimeError(f"{path}: the process of DuckDB failed: {words}")
    raise AssertionError(f"no reply has the name {kind}")


def _is_encodable(sql: str) -> bool:
    try:
        sql.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(path: Path) -> str:
    return path.name.removesuffix(".duckdb.sql")


class RefilledDuckDatabase(DuckDatabase):
    """A database in memory whose rows are exchanged. If the process of DuckDB ends, they are put
    into the next one."""

    def __init__(self, path: Path, limits: Limits, spec: Spec) -> None:
        super().__init__(path, limits, spec)
        self._rows: dict[str, list[Row]] = {}

    def fill_tables(self, rows: Mapping[str, Iterable[Sequence[Any]]], now: str | None) -> None:
        """Replace the rows of all tables; a table without an entry is empty.

        Raises:
            RefusedRowsError: the database refuses a row; then its rows are as they were.
        """
        new = {name: [tuple(row) for row in given] for name, given in rows.items()}
        self._fill(new)
        self._rows = new

    def _fill(self, rows: dict[str, list[Row]]) -> None:
        self._read_reply(
            self._ask(("fill", self._bounds, self._number, self._spec, rows), anew=False)
        )

    def _ask(self, request: tuple[Any, ...], *, anew: bool) -> Any:
        reply = super()._ask(request, anew=anew)
        if reply[0] == LOST:
            self._fill(self._rows)
            reply = super()._ask(request, anew=False)
        return reply
