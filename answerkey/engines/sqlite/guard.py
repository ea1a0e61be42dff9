"""Execute untrusted SQL: a query reads one database, within limits, and changes nothing. No other
module executes untrusted SQL.

Limits that decide what is kept are counted by SQLite (virtual machine steps, bytes), so they are
the same on every machine. Seconds are the last resort, for a single step that never ends.

Virtual tables (full text, R-tree, pragma_...) cannot be read, except json_each and json_tree:
SQLite connects to one only with the right to write.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from answerkey.base.reasons import Reason
from answerkey.engines.database import (
    MAX_COLUMNS,
    MAX_SQL_BYTES,
    OVERDUE_STATUS,
    Limits,
    QueryError,
    Row,
    is_expendable,
)
from answerkey.engines.sqlite.clock import NOW_KEYWORDS, Clock
from answerkey.engines.sqlite.files import immutable_uri
from answerkey.engines.sqlite.statement import trim_statement


@dataclass(slots=True)
class Watchdog:
    """Interrupts a connection whose query has passed its deadline, from a thread of its own.

    A single step may ignore the interrupt and last for hours: printf('%.2000000000c', 'x') counts
    to its precision, as often as the format has it. If such a query still runs after patience_s
    more, the watchdog ends the process, but only a process that is marked as one that the run can
    lose.

    It watches one query at a time: a process that executes several at once needs several watchdogs.
    """

    interval_s: float = 0.25
    patience_s: float = 5.0
    pid: int = 0
    watched: tuple[sqlite3.Connection, float] | None = None
    has_fired: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def watch(self, connection: sqlite3.Connection, seconds: float) -> None:
        """Interrupt the connection's query after these seconds, unless it is released before."""
        if self.pid != os.getpid():  # threads do not survive a fork
            self.pid = os.getpid()
            self.lock = threading.Lock()
            self.watched = None  # a query of the parent process
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
                if overdue_s > self.patience_s and is_expendable():
                    os._exit(OVERDUE_STATUS)


WATCHDOG = Watchdog()
_STEPS_BETWEEN_CHECKS = 1000


def bound_memory(connection: sqlite3.Connection, limits: Any) -> None:
    """Limit the heap, and sort in memory: temporary files could fill the disk."""
    connection.execute(f"PRAGMA hard_heap_limit = {limits.max_heap_bytes};").fetchall()
    connection.execute("PRAGMA temp_store = MEMORY;")


class BoundedExecution:
    """A block in which a connection has one budget of steps and of seconds.

    limits: `Limits`, or another object with max_steps, max_heap_bytes and max_seconds.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        limits: Any,
        *,
        max_steps: int | None = None,
        watchdog: Watchdog | None = WATCHDOG,
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._watchdog = watchdog
        self._max_steps = max_steps or limits.max_steps
        self._checks = math.ceil(self._max_steps / _STEPS_BETWEEN_CHECKS)
        self._checks_left = self._checks

    def __enter__(self) -> Self:
        self._connection.set_progress_handler(self._count_down, _STEPS_BETWEEN_CHECKS)
        if self._watchdog is not None:
            self._watchdog.watch(self._connection, self._limits.max_seconds)
        return self

    def __exit__(self, *_: object) -> None:
        if self._watchdog is not None:
            self._watchdog.release()

    @property
    def steps(self) -> int:
        """Return the virtual machine steps so far, rounded up to thousands."""
        return (self._checks - self._checks_left + 1) * _STEPS_BETWEEN_CHECKS

    def _count_down(self) -> bool:
        self._checks_left -= 1
        return self._checks_left < 0

    def explain(self, error: Exception) -> tuple[Reason, str] | None:
        """Return the code and the words of the limit that caused an exception; None if none did.

        Raises:
            MemoryError: the machine has less memory than the limit.
            KeyboardInterrupt: somebody stopped the run: Python swallows Ctrl-C in a callback of
                SQLite.
        """
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, MemoryError):
            if not _has_memory(self._limits.max_heap_bytes):
                raise MemoryError(
                    f"less memory than SQLite may use: {self._limits.max_heap_bytes} bytes"
                ) from error
            return Reason.HEAP_EXCEEDED, f"more than {self._limits.max_heap_bytes} bytes of heap"
        if code == sqlite3.SQLITE_INTERRUPT:
            if self._checks_left < 0:
                detail = f"more than {self._max_steps} virtual machine steps"
                return Reason.STEP_BUDGET_EXCEEDED, detail
            if self._watchdog is None or not self._watchdog.has_fired:
                raise KeyboardInterrupt from error
            return Reason.TIME_EXCEEDED, f"more than {self._limits.max_seconds} seconds"
        if code == sqlite3.SQLITE_TOOBIG or isinstance(error, sqlite3.DataError):
            return Reason.VALUE_TOO_LARGE, str(error)
        return None


def _has_memory(size_bytes: int) -> bool:
    """Return whether the system would give this process that much memory. It is not touched."""
    try:
        mmap.mmap(-1, size_bytes).close()
    except (OSError, MemoryError, OverflowError):
        return False
    return True


FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer"}
# Their results depend on chance, on the moment or on the SQLite library, not on the database.
RANDOM_FUNCTIONS = {"random", "randomblob"}
LIBRARY_FUNCTIONS = {
    "sqlite_version",
    "sqlite_source_id",
    "fts5_source_id",
    "sqlite_offset",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
}
# About earlier changes of a connection: there are none, since it only reads.
_CONNECTION_FUNCTIONS = {"changes", "total_changes", "last_insert_rowid"}

_ALLOWED_ACTIONS = {
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
}
_REFUSED_FUNCTIONS = (
    FORBIDDEN_FUNCTIONS | RANDOM_FUNCTIONS | LIBRARY_FUNCTIONS | _CONNECTION_FUNCTIONS
)
_LIKE_PATTERN_BYTES = 1000
# What bounds foreign SQL and not the rows that we store; and as much as SQLite can.
_SIZE_LIMITS = (
    sqlite3.SQLITE_LIMIT_LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH,
    sqlite3.SQLITE_LIMIT_COLUMN,
)
_NO_LIMIT = (1 << 31) - 1
_FAULTS_OF_THE_FILE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
}
_EXPLAINED = {  # the columns that EXPLAIN returns
    ("addr", "opcode", "p1", "p2", "p3", "p4", "p5", "comment"),
    ("id", "parent", "notused", "detail"),
}


def _is_fault_of_the_file(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _FAULTS_OF_THE_FILE


def _spell_error(error: Exception) -> str:
    """Return SQLite's message. It quotes a damaged file as it is, which may be invalid UTF-8."""
    if isinstance(error, UnicodeDecodeError):
        return bytes(error.object).decode(errors="replace")
    return str(error)


class GuardedDatabase:
    """One database opened read-only for untrusted SQL; use it as a context manager.

    >>> with GuardedDatabase(path) as database:            # doctest: +SKIP
    ...     database.execute("SELECT count(*) FROM ship")
    [(42,)]

    now: the instant that queries read from the clock (`read_instant` in clock.py writes it); None:
        queries that read it are refused.
    watchdog: interrupts a query after its seconds; None if something else does.
    kept_statements: how many queries are kept compiled. A repeated query continues the count of its
        steps, so that its budget may end up to 1,000 steps sooner.
    steps: the virtual machine steps of the last query that gave rows, rounded up to thousands.

    Raises:
        FileNotFoundError: there is no such file.
        sqlite3.DatabaseError: the file is no database, or a corrupt one.
    """

    def __init__(
        self,
        path: Path,
        limits: Limits | None = None,
        *,
        now: str | None = None,
        watchdog: Watchdog | None = WATCHDOG,
        kept_statements: int = 0,
    ) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"No database at {path}: run `dvc repro download_databases`")
        if not path.stat().st_size:  # SQLite takes it for a database without tables
            raise sqlite3.DatabaseError(f"Corrupt database: {path}: the file is empty")
        connection = sqlite3.connect(
            immutable_uri(path), uri=True, cached_statements=kept_statements
        )
        self._guard(path, connection, limits or Limits(), now=now, watchdog=watchdog)

    def _guard(
        self,
        path: Path,
        connection: sqlite3.Connection,
        limits: Limits,
        *,
        now: str | None,
        watchdog: Watchdog | None,
    ) -> None:
        """Take a connection over: from here on, it runs foreign SQL."""
        self.path = path
        self.limits = limits
        self._watchdog = watchdog
        self._refused = _REFUSED_FUNCTIONS if now else _REFUSED_FUNCTIONS | NOW_KEYWORDS.keys()
        self.steps: int | None = 0
        self._denied: list[tuple[int, str | None, str | None]] = []
        self._connection = connection
        self._clock = Clock(self._connection, self._deny_function, now=now)
        try:
            self._set_bounds()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            self.close()
            raise sqlite3.DatabaseError(
                f"Corrupt database: {path}: {_spell_error(error)}"
            ) from error
        except BaseException:
            self.close()
            raise

    def _set_bounds(self) -> None:
        """Set the limits, and the authorizer last.

        A compiled statement that is kept is not authorized again. So a query must never have the
        text of a statement that ran here: these end with a semicolon, which no query keeps.
        """
        connection, limits = self._connection, self.limits
        bound_memory(connection, limits)
        # Views may call the clock's functions, which are ours. Other functions that are not
        # trusted, and virtual tables, are refused by name.
        connection.execute("PRAGMA trusted_schema = ON;")
        connection.execute("SELECT 1 FROM sqlite_master;").fetchone()  # reads the file
        for function in ("json_each", "json_tree"):  # connect while that is still allowed
            with contextlib.suppress(sqlite3.OperationalError):  # a table may have the name
                connection.execute(f"SELECT 1 FROM {function}('[]');").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.max_value_bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, MAX_SQL_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, MAX_COLUMNS)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, _LIKE_PATTERN_BYTES)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_authorizer(self._authorize)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self._clock.close()

    def execute(self, sql: str, *, max_steps: int | None = None) -> list[Row]:
        """Return all rows of one SELECT. max_steps replaces that of the limits.

        Raises:
            QueryError: the query is refused, fails or exceeds a limit; with the reason.
            sqlite3.DatabaseError: the file is at fault, not the query.
            MemoryError: the machine has less memory than SQLite may use.
        """
        self._denied.clear()
        bounded = BoundedExecution(
            self._connection, self.limits, max_steps=max_steps, watchdog=self._watchdog
        )
        with bounded as execution:
            try:
                cursor = self._connection.execute(trim_statement(sql))
                if cursor.description is None:
                    raise self._refuse(Reason.NOT_A_SELECT, "statement returns no columns")
                # The authorizer allows EXPLAIN, but its rows are no answer.
                if tuple(name for name, *_ in cursor.description) in _EXPLAINED:
                    raise self._refuse(Reason.NOT_A_SELECT, "EXPLAIN is no query")
                rows = self._fetch(cursor)
                self.steps = execution.steps
                return rows
            except QueryError:
                raise
            except (sqlite3.Error, sqlite3.Warning, MemoryError, UnicodeError) as error:
                raise self._explain(error, execution) from error

    def list_reads(self, sql: str) -> set[tuple[str, str]] | None:
        """Return (table, column) of everything that one SELECT reads, in lower case; None if SQLite
        refuses it. It is not executed. The column is "" if only rows are read, as by count(*).

        Raises:
            sqlite3.DatabaseError: the file is at fault, not the query.
        """
        reads = set()

        def record(action: int, first: str | None, second: str | None, *others: str | None) -> int:
            if action == sqlite3.SQLITE_READ:
                reads.add(((first or "").lower(), (second or "").lower()))
            return self._authorize(action, first, second, *others)

        # A new authorizer makes SQLite compile again what it has kept.
        self._connection.set_authorizer(record)
        try:
            self._connection.execute(f"EXPLAIN {trim_statement(sql)};").close()
        except (sqlite3.Error, sqlite3.Warning, MemoryError, UnicodeError) as error:
            if _is_fault_of_the_file(error):
                raise sqlite3.DatabaseError(f"Corrupt database: {self.path}: {error}") from error
            return None
        finally:
            self._connection.set_authorizer(self._authorize)
        return reads

    def _refuse(self, reason: Reason, detail: str) -> QueryError:
        return QueryError(reason, detail, self.path.stem)

    def _fetch(self, cursor: sqlite3.Cursor) -> list[Row]:
        rows: list[Row] = []
        size_bytes, limits = 0, self.limits
        for row in cursor:
            if len(rows) == limits.max_rows:
                raise self._refuse(Reason.TOO_MANY_ROWS, f"more than {limits.max_rows} rows")
            for value in row:
                kind = type(value)
                if kind is str:
                    size_bytes += len(value) if value.isascii() else len(value.encode())
                    continue
                size_bytes += 8
                if kind is bytes:
                    raise self._refuse(Reason.BLOB, f"a BLOB of {len(value)} bytes in the answer")
                if kind is float and not math.isfinite(value):
                    raise self._refuse(Reason.NOT_FINITE, f"{value} in the answer")
            if size_bytes > limits.max_answer_bytes:
                detail = f"more than {limits.max_answer_bytes} bytes in the answer"
                raise self._refuse(Reason.ANSWER_TOO_LARGE, detail)
            rows.append(row)
        return rows

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in _ALLOWED_ACTIONS and not (
            action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in self._refused
        ):
            return sqlite3.SQLITE_OK
        self._denied.append((action, first, second))
        return sqlite3.SQLITE_DENY

    def _deny_function(self, name: str) -> None:
        self._denied.append((sqlite3.SQLITE_FUNCTION, None, name))

    def _explain(self, error: Exception, execution: BoundedExecution) -> Exception:
        """Return the QueryError for an exception, or another error if the database file is at
        fault."""
        words = str(error)
        if words.startswith("You can only execute one statement at a time"):
            return self._refuse(Reason.MULTIPLE_STATEMENTS, "more than one statement")
        if _is_fault_of_the_file(error):
            return sqlite3.DatabaseError(f"Corrupt database: {self.path}: {words}")
        if self._denied:
            action, first, second = self._denied[0]
            if action != sqlite3.SQLITE_FUNCTION:
                detail = f"it does more than read: {first or 'a transaction'}"
                return self._refuse(Reason.NOT_A_SELECT, detail)
            if second is not None and second.lower() in FORBIDDEN_FUNCTIONS:
                return self._refuse(Reason.FORBIDDEN_FUNCTION, f"function {second} is refused")
            detail = f"function {second} depends on more than the database"
            return self._refuse(Reason.NONDETERMINISTIC_FUNCTION, detail)
        if (bound := execution.explain(error)) is not None:
            return self._refuse(*bound)
        is_undecodable = (
            isinstance(error, UnicodeDecodeError)
            or words.startswith("Could not decode to UTF-8 column")
            or words == "user-defined function raised exception"  # only the clock's are ours
        )
        if is_undecodable:
            return self._refuse(Reason.UNDECODABLE_TEXT, "text or a name that is not UTF-8")
        return self._refuse(Reason.SQL_ERROR, words)


class RefilledDatabase(GuardedDatabase):
    """A guarded database in memory whose rows are exchanged: SQLite compiles a query once for all
    rows that it is asked about.

    connection: of the tables without rows. It keeps compiled queries and commits by itself. It is
        closed with the database.
    name: what errors call the database.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        name: str,
        limits: Limits,
        *,
        now: str | None = None,
    ) -> None:
        self._is_filling = False
        self._guard(Path(name), connection, limits, now=now, watchdog=WATCHDOG)

    def fill(self, statements: Iterable[tuple[str, Iterable[Sequence[Any]]]]) -> None:
        """Run statements of our own, each once for each of its rows of values. A kept statement is
        not authorized again, so each ends with a semicolon, which no query keeps.

        Raises:
            sqlite3.Error: where the database refuses a row; then it is as it was.
        """
        connection = self._connection
        connection.set_progress_handler(None, 0)
        sizes = {limit: connection.setlimit(limit, _NO_LIMIT) for limit in _SIZE_LIMITS}
        self._is_filling = True
        try:
            with connection:
                connection.execute("BEGIN;")
                for statement, rows in statements:
                    connection.executemany(statement, rows)
        finally:
            self._is_filling = False
            for limit, size in sizes.items():
                connection.setlimit(limit, size)

    def _authorize(
        self, action: int, first: str | None, second: str | None, *others: str | None
    ) -> int:
        if self._is_filling:
            return sqlite3.SQLITE_OK
        return super()._authorize(action, first, second, *others)
