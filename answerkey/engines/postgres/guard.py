"""Execute untrusted SQL in PostgreSQL: a query reads one database, within limits, and changes
nothing. No other module of this engine executes untrusted SQL.

A query is one statement of the extended protocol, which takes no second one, in a transaction that
only reads, by a role that may read the tables alone and may not change a setting. So nothing of it
stays: no setting, no lock, no temporary table. Its time is counted as CPU seconds of the server's
process that executes it, where the system tells them (Linux), and as seconds. In a server that
others run, its seconds take the place of CPU seconds.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import generators
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult

from answerkey.base.reasons import Reason
from answerkey.engines.database import MAX_COLUMNS, MAX_SQL_BYTES, Limits, QueryError, Row
from answerkey.engines.postgres import privileges
from answerkey.engines.postgres.clock import Clock, find_refusal, list_pieces
from answerkey.engines.postgres.embedded import CLOCK_WORDS, SERVER_BYTES
from answerkey.engines.postgres.loading import Connection, forget_known, write_options
from answerkey.engines.postgres.privileges import READER, READERS
from answerkey.engines.postgres.server import Server, find_server
from answerkey.engines.postgres.settings import Settings
from answerkey.engines.postgres.values import (
    Converter,
    OwnType,
    RefusedValueError,
    find_converters,
    make_adapters,
)
from answerkey.engines.schema import Schema

_INTERVAL_S = 0.25
_PATIENCE_S = 5.0  # from one means to the next: cancel, terminate, kill
_CHUNK_ROWS = 500
_UNPREPARED = 2  # executions of a query before it is prepared
_MAX_PREPARED, _MAX_COUNTED = 500, 4096  # queries of a connection
_TRIES = 20  # to connect, and to execute what died for the fault of another
_BETWEEN_TRIES_S = 0.25

# A query begins with one of these; a statement with another one of these words changes something,
# or has no rows that are an answer.
_QUERIES = ("select", "with", "values", "table", "(")
_COMMANDS = [
    "abort",
    "alter",
    "analyse",
    "analyze",
    "begin",
    "call",
    "checkpoint",
    "close",
    "cluster",
    "comment",
    "commit",
    "copy",
    "create",
    "deallocate",
    "declare",
    "delete",
    "discard",
    "do",
    "drop",
    "end",
    "execute",
    "explain",
    "fetch",
    "grant",
    "import",
    "insert",
    "listen",
    "load",
    "lock",
    "merge",
    "move",
    "notify",
    "prepare",
    "reassign",
    "refresh",
    "reindex",
    "release",
    "reset",
    "revoke",
    "rollback",
    "savepoint",
    "security",
    "set",
    "show",
    "start",
    "truncate",
    "unlisten",
    "update",
    "vacuum",
]

_DENIED = re.compile(r"permission denied for function (\S+)")
_CLOCK_WORD = re.compile(rf"\b({'|'.join(CLOCK_WORDS)})\b", re.IGNORECASE)
_CANCELED, _READ_ONLY, _NO_PRIVILEGE, _NO_DATE = "57014", "25006", "42501", "22007"
_NO_MEMORY, _OVER_LIMIT, _TOO_LARGE, _INTERNAL = "53200", "53400", "54000", "XX000"
_NO_DATABASE = "3D000"
_CHANGES = "is not allowed in a non-volatile function"
_MANY_COMMANDS = "cannot insert multiple commands into a prepared statement"
_TOO_LARGE_WORDS = ("invalid memory alloc request size", "requested length too large")
_ENDED_BY_OTHERS = ("57P01", "57P02", "57P03", "57P04")  # the server ends, or another process died

_OWN_TYPES = """
SELECT t.oid::bigint, CASE WHEN t.typcategory = 'A' THEN t.typelem::bigint ELSE 0 END,
       t.typtype::text, t.typbasetype::bigint
FROM pg_type t WHERE t.oid >= 16384 AND t.typtype IN ('b', 'c', 'd', 'e')"""


def _send(pgconn: PGconn, sql: bytes, name: bytes | None) -> Generator[Any, Any, None]:
    if name is None:
        pgconn.send_query_params(sql, None)
    else:
        pgconn.send_query_prepared(name, None)
    pgconn.set_chunked_rows_mode(_CHUNK_ROWS)
    yield from generators.send(pgconn)


class _Watched:
    """A query that runs: its connection, and when it has to be ended."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        self.pid = database.local_pid
        self.started = time.monotonic()
        self.first_cpu_s: float | None = None
        self.fired_at: float | None = None
        self.detail = ""
        self.means = 0


class _Watchdog:
    """Ends queries that take more CPU seconds than they may, from a thread of its own."""

    def __init__(self) -> None:
        self._pid = 0
        self._lock = threading.Lock()
        self._watched: dict[int, _Watched] = {}

    def watch(self, database: PostgresDatabase) -> _Watched:
        if self._pid != os.getpid():  # threads do not survive a fork
            self._pid = os.getpid()
            self._lock = threading.Lock()
            self._watched = {}
            threading.Thread(target=self._run, name="postgres-watchdog", daemon=True).start()
        watched = _Watched(database)
        with self._lock:
            self._watched[id(watched)] = watched
        return watched

    def release(self, watched: _Watched) -> None:
        with self._lock:
            self._watched.pop(id(watched), None)

    def _run(self) -> None:
        while True:
            time.sleep(_INTERVAL_S)
            with self._lock:
                all_watched = [*self._watched.values()]
            for watched in all_watched:
                with contextlib.suppress(psycopg.Error, OSError):
                    self._check(watched)

    def _check(self, watched: _Watched) -> None:
        limits = watched.database.limits
        cpu_s = read_cpu_seconds(watched.pid)
        if watched.first_cpu_s is None:
            watched.first_cpu_s = cpu_s
        now = time.monotonic()
        if watched.fired_at is None:
            if cpu_s is not None and cpu_s - (watched.first_cpu_s or 0.0) > limits.max_cpu_s:
                watched.detail = f"more than {limits.max_cpu_s} seconds of CPU time"
            elif now - watched.started > limits.max_seconds + 2 * _INTERVAL_S:
                watched.detail = f"more than {limits.max_seconds} seconds"
            else:
                return
            watched.fired_at = now
        if now - watched.fired_at < watched.means * _PATIENCE_S:
            return
        watched.means += 1
        with self._lock:
            if id(watched) not in self._watched:
                return
            watched.database.end_query(watched.means)


_WATCHDOG = _Watchdog()


def read_cpu_seconds(pid: int) -> float | None:
    """Return the CPU seconds that a process of this machine has taken; None if nobody tells."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PostgresDatabase:
    """One database of the server, opened for untrusted SQL.

    path: the text of which it was built, or a name.
    build: builds the database if it is not there, and returns its name and its settings.
    now: the instant of its clock.
    """

    def __init__(
        self,
        path: Path,
        limits: Limits | None,
        build: Callable[[], tuple[str, Settings]],
        *,
        now: str | None = None,
    ) -> None:
        self.path = path
        self.limits = limits or Limits()
        self._is_ours = find_server().is_ours
        if not self._is_ours:
            seconds = min(self.limits.max_seconds, self.limits.max_cpu_s)
            self.limits = replace(self.limits, max_seconds=seconds)
        self.steps: int | None = None
        self._build = build
        self._now = now
        self._schema: Schema | None = None
        self._own_types: dict[int, OwnType] | None = None
        self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def name(self) -> str:
        """Return the name of the database in the server."""
        return self._name

    @property
    def backend_pid(self) -> int:
        """Return the number of the server's process for this database."""
        return self._pid

    @property
    def local_pid(self) -> int:
        """Return the same number if it is a process of this machine, and else 0."""
        return self._pid if self._is_ours else 0

    def execute(self, sql: str, *, max_steps: int | None = None) -> list[Row]:
        """Return all rows of one SELECT. max_steps: there are none in this engine.

        Raises:
            QueryError: the query is refused, fails or exceeds a limit; with the reason.
            OSError: the server ends again and again.
        """
        called = self._prepare(sql)
        tries = deaths = 0
        while True:
            watched = _WATCHDOG.watch(self)
            try:
                return self._fetch(called)
            except QueryError:
                raise
            except RefusedValueError as error:
                raise self._refuse(error.reason, str(error)) from error
            except UnicodeError as error:
                raise self._refuse(Reason.UNDECODABLE_TEXT, str(error)) from error
            except psycopg.Error as error:
                _WATCHDOG.release(watched)
                if watched.fired_at is not None:
                    self._restore()
                    raise self._refuse(Reason.TIME_EXCEEDED, watched.detail) from error
                if not self._connection.closed:
                    elapsed_s = time.monotonic() - watched.started
                    if error.sqlstate == _CANCELED and elapsed_s < self.limits.max_seconds / 2:
                        tries += 1  # what cancelled the query before came late
                        if tries <= _TRIES:
                            continue
                    raise self._explain(error) from error
                tries += 1
                deaths += error.sqlstate not in _ENDED_BY_OTHERS
                self._restore()
                if deaths > 1:
                    detail = "it ends the process of the server that executes it"
                    raise self._refuse(Reason.SQL_ERROR, detail) from error
                if tries > _TRIES:
                    raise OSError(f"{self.path}: the server ends again and again") from error
            finally:
                _WATCHDOG.release(watched)

    def list_reads(self, sql: str) -> set[tuple[str, str]] | None:
        """Return (table, column) of everything that one SELECT reads, in lower case; None if
        Postgres refuses it. It is not executed. The column is "" if only rows are read."""
        from answerkey.engines.postgres.reads import list_reads
        from answerkey.engines.postgres.schema import read_schema

        try:
            called = self._prepare(sql)
        except QueryError:
            return None
        watched = _WATCHDOG.watch(self)
        try:
            self._fetch(f"EXPLAIN {called}")
        except (psycopg.Error, QueryError, UnicodeError):
            self._restore()
            return None
        finally:
            _WATCHDOG.release(watched)
        if self._schema is None:
            with find_server().connect(self._name) as connection:
                self._schema = read_schema(connection, self._settings)
        return list_reads(sql, self._schema)

    def end_query(self, means: int) -> None:
        """End the query that runs, from another thread: cancel it; the next time end its process,
        at last by force, which ends all processes of the server, and it starts again."""
        if means == 1:
            self._connection.cancel_safe(timeout=_PATIENCE_S)
        elif means == 2:
            with find_server().connect() as connection:
                connection.execute("SELECT pg_terminate_backend(%s)", [self._pid])
        elif read_cpu_seconds(self.local_pid) is not None:
            os.kill(self.local_pid, signal.SIGKILL)

    def _connect(self) -> None:
        server = find_server()
        for tries in range(_TRIES + 1):
            self._name, self._settings = self._build()
            try:
                self._open(server)
            except psycopg.OperationalError as error:
                if tries == _TRIES:
                    raise OSError(f"{self.path}: {error}") from error
                forget_known()
                _ROLES.clear()
                time.sleep(_BETWEEN_TRIES_S * (tries > 0))
                server.start()
            else:
                return

    def _open(self, server: Server) -> None:
        options = write_options(
            self._settings,
            {
                "default_transaction_read_only": "on",
                "statement_timeout": f"{self.limits.max_seconds}s",
            },
        )
        role = _find_role(server)
        self._connection = server.connect(
            self._name, role, options=options, context=_Adapted(_ADAPTERS)
        )
        self._reader = Transformer(self._connection)
        self._prepared: dict[str, bytes] = {}
        self._executed: dict[str, int] = {}
        self._pid = self._connection.info.backend_pid
        self._schema = None
        self._own_types = None
        if self._is_ours:
            _bound_memory(self._pid, self.limits.max_heap_bytes)

    def _restore(self) -> None:
        """Make the connection as it was, or make another."""
        if self._connection.closed:
            self._connect()

    def _prepare(self, sql: str) -> str:
        """Return the statement with its clock.

        Raises:
            QueryError: it is no query, or is refused by its text.
        """
        called, refusal = _prepare(sql, self._now, self._settings.timezone)
        if refusal is not None:
            raise self._refuse(*refusal)
        return called

    def _fetch(self, sql: str) -> list[Row]:
        rows: list[Row] = []
        converters: list[tuple[int, Converter]] | None = None
        size_bytes, limits = 0, self.limits
        with contextlib.closing(self._stream(sql)) as results:
            for result in results:
                if converters is None:
                    converters = self._find_converters(result)
                    self._reader.set_pgresult(result)
                else:
                    self._reader.set_pgresult(result, set_loaders=False)
                for row in self._reader.load_rows(0, result.ntuples, tuple):
                    if len(rows) == limits.max_rows:
                        detail = f"more than {limits.max_rows} rows"
                        raise self._refuse(Reason.TOO_MANY_ROWS, detail)
                    for value in row:
                        if type(value) is str:
                            length = len(value) if value.isascii() else len(value.encode())
                            if length > limits.max_value_bytes:
                                detail = f"a value of {length} bytes in the answer"
                                raise self._refuse(Reason.VALUE_TOO_LARGE, detail)
                            size_bytes += length
                        else:
                            size_bytes += 8
                            if type(value) is float and not _MIN <= value <= _MAX:
                                raise self._refuse(Reason.NOT_FINITE, f"{value} in the answer")
                    if size_bytes > limits.max_answer_bytes:
                        detail = f"more than {limits.max_answer_bytes} bytes in the answer"
                        raise self._refuse(Reason.ANSWER_TOO_LARGE, detail)
                    if converters:
                        values = list(row)
                        for index, convert in converters:
                            if values[index] is not None:
                                values[index] = convert(values[index])
                        row = tuple(values)
                    rows.append(row)
        return rows

    def _stream(self, sql: str) -> Generator[PGresult]:
        """Yield the results of one statement, each with some rows. If no more is asked for, the
        statement is cancelled."""
        connection = self._connection
        name = self._find_prepared(sql)
        connection.wait(_send(connection.pgconn, sql.encode(), name))
        is_running = True
        try:
            while (result := connection.wait(generators.fetch(connection.pgconn))) is not None:
                if result.status not in (ExecStatus.TUPLES_CHUNK, ExecStatus.TUPLES_OK):
                    is_running = False
                    if result.status == ExecStatus.FATAL_ERROR:
                        raise psycopg.errors.error_from_result(result)
                    raise self._refuse(Reason.NOT_A_SELECT, "statement returns no columns")
                yield result
            is_running = False
        finally:
            if is_running and not connection.closed:
                connection.cancel_safe(timeout=_PATIENCE_S)
            with contextlib.suppress(psycopg.Error):
                while connection.wait(generators.fetch(connection.pgconn)) is not None:
                    pass

    def _find_prepared(self, sql: str) -> bytes | None:
        """Return the name of a prepared statement; None if there is none. The server plans a query
        once that is executed again and again; its plan is the same."""
        name = self._prepared.get(sql)
        if name is None and len(self._prepared) < _MAX_PREPARED:
            if len(self._executed) > _MAX_COUNTED:
                self._executed.clear()
            self._executed[sql] = self._executed.get(sql, 0) + 1
            if self._executed[sql] > _UNPREPARED:
                name = b"query%d" % len(self._prepared)
                pgconn = self._connection.pgconn
                pgconn.send_prepare(name, sql.encode())
                (result,) = self._connection.wait(generators.execute(pgconn))
                if result.status != ExecStatus.COMMAND_OK:
                    return None  # which the query is told again
                self._prepared[sql] = name
        return name

    def _find_converters(self, result: PGresult) -> list[tuple[int, Converter]]:
        if not result.nfields:
            raise self._refuse(Reason.NOT_A_SELECT, "statement returns no columns")
        if result.nfields > MAX_COLUMNS:
            raise self._refuse(Reason.SQL_ERROR, f"more than {MAX_COLUMNS} columns")
        columns = [(result.ftype(n), result.fmod(n)) for n in range(result.nfields)]
        if self._own_types is None:
            if all(oid < 16384 for oid, _ in columns):
                return find_converters(columns, {})
            with connect_reader(self._name) as connection:
                self._own_types = read_own_types(connection)
        return find_converters(columns, self._own_types)

    def _refuse(self, reason: Reason, detail: str) -> QueryError:
        return QueryError(reason, detail, self.path.name.removesuffix(".postgres.sql"))

    def _explain(self, error: psycopg.Error) -> QueryError:
        state = error.sqlstate or ""
        words = error.diag.message_primary or str(error).strip().partition("\n")[0]
        if not state and isinstance(error, psycopg.ProgrammingError):
            return self._refuse(Reason.NOT_A_SELECT, "statement returns no columns")
        if state == _CANCELED:
            detail = f"more than {self.limits.max_seconds} seconds"
            return self._refuse(Reason.TIME_EXCEEDED, detail)
        if state in (_NO_MEMORY, _OVER_LIMIT):
            return self._refuse(Reason.HEAP_EXCEEDED, words)
        if state == _TOO_LARGE or any(part in words for part in _TOO_LARGE_WORDS):
            return self._refuse(Reason.VALUE_TOO_LARGE, words)
        if state == _READ_ONLY or _CHANGES in words:
            return self._refuse(Reason.NOT_A_SELECT, words)
        if _MANY_COMMANDS in words:
            return self._refuse(Reason.MULTIPLE_STATEMENTS, "more than one statement")
        if state == _NO_PRIVILEGE and (found := _DENIED.search(words)) is not None:
            if privileges.is_forbidden(found[1]):
                detail = f"function {found[1]} is refused"
                return self._refuse(Reason.FORBIDDEN_FUNCTION, detail)
            detail = f"function {found[1]} depends on more than the database"
            return self._refuse(Reason.NONDETERMINISTIC_FUNCTION, detail)
        if state == _NO_DATE and (found := _CLOCK_WORD.search(words)) is not None:
            detail = f"function {found[1].lower()} depends on more than the database"
            return self._refuse(Reason.NONDETERMINISTIC_FUNCTION, detail)
        return self._refuse(Reason.SQL_ERROR, words)


@lru_cache(maxsize=4096)  # gold is executed again for each prediction
def _prepare(sql: str, now: str | None, zone: str) -> tuple[str, tuple[Reason, str] | None]:
    """Return a statement with its clock, and why it is refused by its text alone."""
    if len(sql.encode(errors="surrogatepass")) > MAX_SQL_BYTES:
        return sql, (Reason.VALUE_TOO_LARGE, f"more than {MAX_SQL_BYTES} bytes of SQL")
    sql = sql.strip(" \t\r\n\f\v;\ufeff")
    if not sql[:7].lower().startswith(("select ", "select\n", "with ")):
        # Pieces that stand alone before the statement: comments and semicolons.
        pieces = (p.text for p in list_pieces(sql) if p.kind != "blank" and p.text != ";")
        word = next(pieces, "").lower()
        if word in _COMMANDS:
            return sql, (Reason.NOT_A_SELECT, f"it does more than read: {word.upper()}")
        if not word:
            return sql, (Reason.NOT_A_SELECT, "statement returns no columns")
        if word not in _QUERIES:
            return sql, (Reason.SQL_ERROR, f'syntax error at or near "{word:.80}"')
    if "\0" in sql:
        return sql, (Reason.SQL_ERROR, "the query has a zero character")
    if (refusal := find_refusal(sql)) is not None:
        return sql, refusal
    return Clock(now, zone).call_clock(sql), None


_MAX = sys.float_info.max
_MIN = -_MAX
_ADAPTERS = make_adapters()


class _Adapted:
    """What psycopg takes as the source of adapters."""

    def __init__(self, adapters: AdaptersMap) -> None:
        self.adapters = adapters
        self.connection = None


_ROLES: dict[tuple[int, Path], str] = {}  # by process and server


def _find_role(server: Server) -> str:
    """Return the role of this process, which is made if it is not there. It may do what readers
    may, and sees the rows that a policy hides. Nobody else has it."""
    key = (os.getpid(), server.folder)
    if key not in _ROLES:
        role = f"{READER}{server.number}"
        with server.connect() as connection:
            server.make_role(connection, role, f"LOGIN BYPASSRLS IN ROLE {READERS}")
        _ROLES[key] = role
    return _ROLES[key]


def _bound_memory(pid: int, max_heap_bytes: int) -> None:
    """Limit the address space of a process of the server, where the system can (Linux). It has the
    default bound from its start, since a container may not let root set another one."""
    if sys.platform != "linux" or max_heap_bytes == Limits().max_heap_bytes:
        return
    import resource

    with contextlib.suppress(ProcessLookupError, PermissionError):
        bound = SERVER_BYTES + max_heap_bytes
        resource.prlimit(pid, resource.RLIMIT_AS, (bound, bound))


def read_own_types(connection: Connection) -> dict[int, OwnType]:
    """Return the types of a database that are not built in, by number."""
    rows = connection.execute(_OWN_TYPES).fetchall()
    return {oid: OwnType(*others) for oid, *others in rows}


def connect_reader(name: str) -> Connection:
    """Return a connection of our own to a database of the server, which reads all types as answers
    have them."""
    return find_server().connect(name, context=_Adapted(_ADAPTERS))
