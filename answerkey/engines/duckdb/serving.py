"""The process of DuckDB: it reads requests from a pipe, and writes replies.

It executes SQL that nobody has read, so it may end at any moment: the kernel ends it once a query
has used its seconds of CPU time, and refuses memory beyond that of a query. It never outlives the
process that started it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb

from answerkey.base.reasons import Reason
from answerkey.engines.database import MAX_COLUMNS, MAX_SQL_BYTES, end_with
from answerkey.engines.duckdb import loading
from answerkey.engines.duckdb.messages import (
    CORRUPT,
    FAILED,
    LENGTH,
    LOST,
    OK,
    REFUSED,
    REFUSED_ROWS,
    Bounds,
    Spec,
    pack_message,
    unpack_message,
)
from answerkey.engines.duckdb.refusals import Refusals, find_mark, parse_tree
from answerkey.engines.duckdb.values import (
    Converter,
    NeedsTextError,
    UnfitValueError,
    find_converter,
    find_text_converter,
    needs_text,
    write_text_column,
)
from answerkey.engines.schema import encode_schema

_KEPT_OPEN = 64
_ANY_INSTANT = "2000-01-01"  # what is described reads no clock
_ROWS_AT_ONCE = 2048
_BREAKING = (duckdb.FatalException, duckdb.InternalException, MemoryError)
_PAGE_BYTES = resource.getpagesize()
_MAX_FILE_BYTES = 8 << 30
_MAX_WORDS = 500


@dataclass(slots=True)
class OpenDatabase:
    """An open database.

    relations: names of tables, views and schemas, in lower case.
    fillings: how often its rows were exchanged.
    layout: of its tables, if rows are exchanged.
    """

    connection: duckdb.DuckDBPyConnection
    spec: Spec
    relations: set[str]
    fillings: int = 0
    layout: list[loading.TableLayout] = field(default_factory=list)

    @property
    def is_in_memory(self) -> bool:
        return not self.spec.path


class QueryRefusedError(Exception):
    """A query has no answer: a reason and its words."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


def open_file(spec: Spec) -> OpenDatabase:
    connection = loading.connect(spec.path, spec.memory_bytes, read_only=True)
    loading.set_search_path(connection, spec.settings)
    loading.prepare(connection, spec.settings, spec.now)
    return OpenDatabase(connection, spec, loading.list_relations(connection))


def open_in_memory(spec: Spec) -> OpenDatabase:
    connection = loading.connect(":memory:", spec.memory_bytes, read_only=False)
    loading.prepare(connection, spec.settings, spec.now)
    return OpenDatabase(connection, spec, set())


def fill(database: OpenDatabase, rows: Mapping[str, Any]) -> None:
    """Exchange the rows of a database in memory. They are put into a new one beside it, which takes
    its place: DuckDB does not allow a transaction to delete a key and to insert it again."""
    connection, number = database.connection, database.fillings + 1
    name = f"filling_{number}"
    connection.execute(f"ATTACH ':memory:' AS {name}")
    connection.execute(f"USE {name}")
    try:
        connection.execute("BEGIN")
        for statement in (*database.spec.statements, *database.spec.views):
            connection.execute(statement)
        loading.set_search_path(connection, database.spec.settings)
        if not database.layout:
            database.layout = loading.read_layout(connection)
            database.relations = loading.list_relations(connection)
        for statement in loading.write_tables(database.layout, rows):
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(duckdb.Error):
            connection.execute("ROLLBACK")
        connection.execute(
            f"USE filling_{database.fillings}" if database.fillings else "USE memory"
        )
        connection.execute(f"DETACH {name}")
        raise
    if database.fillings:
        connection.execute(f"DETACH filling_{database.fillings}")
    database.fillings = number


class Queries:
    """Executes queries on open databases."""

    def __init__(self) -> None:
        self._parser = duckdb.connect(":memory:", config=loading.CONFIG)
        self._refusals = Refusals(lambda sql: self._parser.execute(sql).fetchall())

    def execute(self, database: OpenDatabase, sql: str, bounds: Bounds) -> list[Any]:
        """Return the rows of one SELECT.

        Raises:
            QueryRefusedError: the query is refused, fails or exceeds a bound.
        """
        with _explain_errors(bounds), _reading_only(database):
            statement = self._check(database, sql)
            cursor = database.connection.execute(statement)
            kinds = [str(column[1]) for column in cursor.description]
            if len(kinds) > MAX_COLUMNS:
                raise QueryRefusedError(Reason.SQL_ERROR, f"more than {MAX_COLUMNS} columns")
            try:
                return fetch(cursor, [find_converter(kind) for kind in kinds], bounds)
            except NeedsTextError:
                cursor = self._execute_as_text(database.connection, statement.query, kinds)
                return fetch(cursor, _find_text_converters(kinds), bounds)

    def _execute_as_text(
        self, connection: duckdb.DuckDBPyConnection, query: str, kinds: list[str]
    ) -> duckdb.DuckDBPyConnection:
        try:
            return connection.execute(write_as_text(query.rstrip("; \t\r\n"), kinds))
        except duckdb.ParserException:  # comments or semicolons stand at its end
            written = self._parser.execute(
                "SELECT json_deserialize_sql(json_serialize_sql(?))", [query]
            ).fetchone()
            assert written is not None
            return connection.execute(write_as_text(written[0], kinds))

    def _check(self, database: OpenDatabase, sql: str) -> duckdb.Statement:
        if len(sql) > MAX_SQL_BYTES or len(sql.encode()) > MAX_SQL_BYTES:
            raise QueryRefusedError(
                Reason.VALUE_TOO_LARGE, f"a query of more than {MAX_SQL_BYTES} bytes"
            )
        statements = database.connection.extract_statements(sql)
        if not statements:
            raise QueryRefusedError(Reason.NOT_A_SELECT, "no statement")
        if len(statements) > 1:
            raise QueryRefusedError(Reason.MULTIPLE_STATEMENTS, "more than one statement")
        statement = statements[0]
        if statement.type != duckdb.StatementType.SELECT:
            detail = f"it does more than read: {statement.type.name}"
            raise QueryRefusedError(Reason.NOT_A_SELECT, detail)
        if self._refusals.is_suspicious(sql):
            found = self._parser.execute("SELECT json_serialize_sql(?)", [sql]).fetchone()
            assert found is not None
            refusal = self._refusals.explain(
                parse_tree(found[0]),
                relations=database.relations,
                has_clock=database.spec.now is not None,
            )
            if refusal is not None:
                raise QueryRefusedError(*refusal)
        return statement

    def list_reads(
        self, database: OpenDatabase, sql: str, bounds: Bounds
    ) -> list[tuple[str, str]] | None:
        """Return (table, column) of all that a query reads, in lower case; None if it is refused.

        A plan of DuckDB says it, if columns that nobody needs are all that was optimized away.
        """
        connection = database.connection
        try:
            with _explain_errors(bounds):
                self._check(database, sql)
                names = connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
                others = ",".join(name for (name,) in names if name != "unused_columns")
                connection.execute(f"SET disabled_optimizers = '{others}'")
                try:
                    found = connection.execute(f"EXPLAIN (FORMAT JSON) {sql}").fetchone()
                    assert found is not None
                finally:
                    connection.execute("SET disabled_optimizers = ''")
        except QueryRefusedError:
            return None
        reads = set()
        for info in _walk_plan(json.loads(found[1])):
            if "Table" in info:
                schema, table = _read_parts(info["Table"])[-2:]
                columns = info.get("Projections") or ""
                for column in [columns] if isinstance(columns, str) else columns:
                    reads.add((loading.name_table(schema, table).lower(), column.lower()))
        return sorted(reads)


def _walk_plan(plan: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    waiting = [*plan]
    while waiting:
        node = waiting.pop()
        yield node.get("extra_info", {})
        waiting.extend(node.get("children", ()))


def _read_parts(path: str) -> list[str]:
    """Return the parts of a quoted path.

    >>> _read_parts('"database".main."a ""b"".c"')
    ['database', 'main', 'a "b".c']
    """
    parts = re.findall(r'"((?:[^"]|"")*)"|([^".]+)', path)
    return [quoted.replace('""', '"') or plain for quoted, plain in parts]


def write_as_text(query: str, kinds: list[str]) -> str:
    """Return a query with the same rows, whose columns are texts where Python has no value."""
    names = [f"c{index}" for index in range(len(kinds))]
    columns = [
        write_text_column(name, kind) if needs_text(kind) else name
        for name, kind in zip(names, kinds, strict=True)
    ]
    return f"SELECT {', '.join(columns)} FROM (\n{query}\n) AS q({', '.join(names)})"


def _find_text_converters(kinds: list[str]) -> list[Converter | None]:
    return [
        find_text_converter(kind) if needs_text(kind) else find_converter(kind) for kind in kinds
    ]


def fetch(
    cursor: duckdb.DuckDBPyConnection, converters: list[Converter | None], bounds: Bounds
) -> list[Any]:
    """Return all rows, if there are not too many and they are not too large."""
    rows: list[Any] = []
    size_bytes = 0
    while batch := cursor.fetchmany(min(_ROWS_AT_ONCE, bounds.max_rows + 1 - len(rows))):
        if len(rows) + len(batch) > bounds.max_rows:
            raise QueryRefusedError(Reason.TOO_MANY_ROWS, f"more than {bounds.max_rows} rows")
        columns = []
        for values, converter in zip(zip(*batch, strict=True), converters, strict=True):
            converted = values if converter is None else converter(values)
            size_bytes += _measure(converted, bounds)
            columns.append(converted)
        if size_bytes > bounds.max_answer_bytes:
            detail = f"more than {bounds.max_answer_bytes} bytes in the answer"
            raise QueryRefusedError(Reason.ANSWER_TOO_LARGE, detail)
        rows.extend(zip(*columns, strict=True))
    return rows


def _measure(values: Any, bounds: Bounds) -> int:
    size_bytes = 0
    for value in values:
        if type(value) is not str:
            size_bytes += 8
            continue
        length = len(value) if value.isascii() else len(value.encode())
        if length > bounds.max_value_bytes:
            raise QueryRefusedError(
                Reason.VALUE_TOO_LARGE, f"more than {bounds.max_value_bytes} bytes in a value"
            )
        size_bytes += length
    return size_bytes


@contextmanager
def _reading_only(database: OpenDatabase) -> Iterator[None]:
    """Refuse what would write. A file is open for reading alone; one in memory is not."""
    if not database.is_in_memory:
        yield
        return
    database.connection.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            database.connection.execute("ROLLBACK")


@contextmanager
def _explain_errors(bounds: Bounds) -> Iterator[None]:
    try:
        yield
    except UnfitValueError as error:
        raise QueryRefusedError(error.reason, error.detail) from error
    except (duckdb.OutOfMemoryException, MemoryError) as error:
        detail = f"more than {bounds.max_heap_bytes} bytes of memory"
        raise QueryRefusedError(Reason.HEAP_EXCEEDED, detail) from error
    except UnicodeError as error:
        detail = "text or a name that is not UTF-8"
        raise QueryRefusedError(Reason.UNDECODABLE_TEXT, detail) from error
    except duckdb.PermissionException as error:
        detail = "it reads a file or a network"
        raise QueryRefusedError(Reason.FORBIDDEN_FUNCTION, detail) from error
    except (duckdb.Error, ValueError, OverflowError, RecursionError, RuntimeError) as error:
        words = spell_error(error)
        if (refusal := find_mark(words)) is not None:
            raise QueryRefusedError(*refusal) from error
        raise QueryRefusedError(Reason.SQL_ERROR, words) from error


def spell_error(error: Exception) -> str:
    """Return DuckDB's words without the query, which it repeats, in one line, cut if a value makes
    them long."""
    words = str(error).partition("\nLINE ")[0].partition("\n\nStack Trace")[0]
    return " ".join(words.split())[:_MAX_WORDS]


class Server:
    """Answers requests, and keeps databases open between them."""

    def __init__(self) -> None:
        self._queries = Queries()
        self._open: OrderedDict[int, OpenDatabase] = OrderedDict()

    def answer(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the reply to (closed databases, name of the operation, its arguments)."""
        closed, operation, bounds, *arguments = request
        for number in closed:
            self._close(number)
        bounds = Bounds(*bounds)
        handler: Callable[..., tuple[Any, ...]] = getattr(self, f"_do_{operation}")
        try:
            return handler(bounds, *arguments)
        except QueryRefusedError as error:
            return REFUSED, str(error.reason), error.detail
        except (loading.RefusedTextError, duckdb.Error) as error:
            mark = find_mark(str(error))
            return CORRUPT, spell_error(error) if mark is None else mark.detail

    def _find(self, number: int, spec: tuple[Any, ...]) -> OpenDatabase:
        database = self._open.get(number)
        if database is None:
            opened = Spec(*spec)
            # A process has one instance of a file, with one bound of memory.
            for key, other in [*self._open.items()]:
                is_same_file = opened.path and other.spec.path == opened.path
                if is_same_file and other.spec.memory_bytes != opened.memory_bytes:
                    self._close(key)
            database = open_file(opened) if opened.path else open_in_memory(opened)
            self._open[number] = database
            files = [key for key, other in self._open.items() if not other.is_in_memory]
            for key in files[:-_KEPT_OPEN]:
                self._close(key)
        self._open.move_to_end(number)
        return database

    def _find_filled(self, number: int, spec: tuple[Any, ...]) -> OpenDatabase | None:
        """Return the database; None if its rows were in a process that has ended."""
        database = self._find(number, spec)
        return None if database.is_in_memory and not database.fillings else database

    def _close(self, number: int) -> None:
        database = self._open.pop(number, None)
        if database is not None:
            database.connection.close()

    def _do_execute(
        self, bounds: Bounds, number: int, spec: tuple[Any, ...], sql: str
    ) -> tuple[Any, ...]:
        database = self._find_filled(number, spec)
        if database is None:
            return (LOST,)
        try:
            with bounded(bounds):
                return OK, self._queries.execute(database, sql, bounds)
        except QueryRefusedError as error:
            # After an error of its own or without memory, DuckDB does not answer on that instance,
            # which other databases of the same file share.
            if isinstance(error.__cause__, _BREAKING):
                path = database.spec.path
                for key, other in [*self._open.items()]:
                    if key == number or (path and other.spec.path == path):
                        self._close(key)
            raise

    def _do_list_reads(
        self, bounds: Bounds, number: int, spec: tuple[Any, ...], sql: str
    ) -> tuple[Any, ...]:
        database = self._find_filled(number, spec)
        if database is None:
            return (LOST,)
        with bounded(bounds):
            return OK, self._queries.list_reads(database, sql, bounds)

    def _do_open(self, bounds: Bounds, number: int, spec: tuple[Any, ...]) -> tuple[Any, ...]:
        self._find(number, spec)
        return OK, None

    def _do_fill(
        self, bounds: Bounds, number: int, spec: tuple[Any, ...], rows: dict[str, Any]
    ) -> tuple[Any, ...]:
        database = self._find(number, spec)
        try:
            with bounded(bounds):
                fill(database, rows)
        except (duckdb.Error, ValueError, MemoryError) as error:
            return REFUSED_ROWS, spell_error(error)
        return OK, None

    def _do_describe(self, bounds: Bounds, text: str, settings: dict[str, str]) -> tuple[Any, ...]:
        with (
            bounded(bounds),
            loading.connect(":memory:", bounds.max_heap_bytes, read_only=False) as empty,
        ):
            loading.prepare(empty, settings, _ANY_INSTANT)
            loading.split_text(empty, text)
            return OK, json.dumps(encode_schema(loading.read_schema(empty)))

    def _do_read_tables(
        self, bounds: Bounds, number: int, spec: tuple[Any, ...], text: str
    ) -> tuple[Any, ...]:
        connection = self._find(number, spec).connection
        opened = Spec(*spec)
        with loading.connect(":memory:", opened.memory_bytes, read_only=False) as empty:
            loading.prepare(empty, opened.settings, opened.now)
            parts = loading.split_text(empty, text)
            columns_by_table = loading.list_columns(empty)  # in the order of creation
            views = loading.list_views(empty)
        allowed = loading.list_allowed(connection)
        tables = []
        for (schema, name), columns in columns_by_table.items():
            if (schema, name) not in views:
                generated = [column for column, *_, is_generated in columns if is_generated]
                rows = loading.read_rows(connection, schema, name)
                tables.append(
                    (
                        loading.name_table(schema, name),
                        rows,
                        generated,
                        allowed.get((schema, name), {}),
                    )
                )
        return OK, (parts.tables, parts.views, tables)

    def _do_write_tables(
        self,
        bounds: Bounds,
        settings: dict[str, str],
        statements: list[str],
        rows: dict[str, Any],
    ) -> tuple[Any, ...]:
        with loading.connect(":memory:", bounds.max_heap_bytes, read_only=False) as empty:
            loading.prepare(empty, settings, _ANY_INSTANT)
            for statement in statements:
                empty.execute(statement)
            return OK, list(loading.write_tables(loading.read_layout(empty), rows))

    def _do_build(
        self,
        bounds: Bounds,
        path: str,
        text: str,
        settings: dict[str, str],
        now: str | None,
    ) -> tuple[Any, ...]:
        with bounded(bounds):
            loading.build_file(path, text, settings, now, bounds.max_heap_bytes)
        return OK, None

    def _do_build_reordered(
        self, bounds: Bounds, path: str, source: str, text: str, now: str | None
    ) -> tuple[Any, ...]:
        with bounded(bounds):
            loading.build_reordered(path, source, text, now, bounds.max_heap_bytes)
        return OK, None


@contextmanager
def bounded(bounds: Bounds) -> Iterator[None]:
    """Bound memory and CPU time of a block. What the process has already does not count."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    used_bytes = _read_used_bytes()
    if used_bytes is not None:
        most = used_bytes + bounds.max_heap_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most if hard < 0 else min(most, hard), hard))
    signal.setitimer(signal.ITIMER_PROF, bounds.max_cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _read_used_bytes() -> int | None:
    """Return the address space that this process has; None where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * _PAGE_BYTES
    except OSError:
        return None


def read_exactly(file: int, count: int) -> bytes:
    """Read `count` bytes from a pipe and return them.

    Raises:
        EOFError: the pipe ends before.
    """
    parts = []
    while count:
        part = os.read(file, min(count, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_message(file: int, message: Any) -> None:
    """Write a message of numbers, texts, lists and dicts to a pipe."""
    view = memoryview(pack_message(message))
    while view:
        view = view[os.write(file, view) :]


def read_message(file: int) -> Any:
    (count,) = LENGTH.unpack(read_exactly(file, LENGTH.size))
    return unpack_message(read_exactly(file, count))


def main(parent: str) -> None:
    """Answer requests as long as the process `parent` is there."""
    # The replies have a file of their own. What DuckDB prints goes to the standard error.
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=end_with, args=[int(parent)], daemon=True).start()
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    server = Server()
    with suppress(EOFError, ConnectionError):
        while True:
            request = read_message(requests)
            try:
                reply = server.answer(request)
            except Exception as error:  # the other side raises it
                reply = (FAILED, f"{type(error).__name__}: {error}")
            write_message(replies, reply)
