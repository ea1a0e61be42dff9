"""Take a database of SQLite apart: its rows, with the statements that make its tables, indexes and
views; and make databases of the same tables with other rows.

What is left out: virtual tables and the tables behind them, which no guarded query reads,
triggers, which no query fires, and what this SQLite cannot make, such as a table whose collation
only an application has.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from answerkey.base.errors import InputError
from answerkey.engines.database import Limits
from answerkey.engines.engine import (
    WHOLE_SAMPLE,
    RefusedRowsError,
    RowSample,
    StoredTable,
    StoredTables,
)
from answerkey.engines.references import Family, Reference, find_positions, list_declared
from answerkey.engines.schema import Table, quote_name
from answerkey.engines.sqlite.clock import set_clock_of
from answerkey.engines.sqlite.files import LAYOUT, open_database, serialize_database
from answerkey.engines.sqlite.guard import RefilledDatabase
from answerkey.engines.sqlite.schema import read_schema

_PAGE_BYTES = 512  # the least: a table takes a page at least, and a small database is few of them
_KEPT_STATEMENTS = 2000  # compiled, of a database whose rows are exchanged
_GENERATED = (2, 3)  # as table_xinfo says
# What SQLite raises for a row that it refuses: IntegrityError where a constraint or a type forbids
# it, OperationalError where a generated column cannot be computed, and OverflowError where a whole
# number has more than 64 bits.
_REFUSALS = (sqlite3.IntegrityError, sqlite3.OperationalError, OverflowError)

Row = tuple[Any, ...]


def read_tables(path: Path, *, now: str | None, sample: RowSample = WHOLE_SAMPLE) -> StoredTables:
    """Return what makes the tables, indexes and views of a database, and rows of it.

    Raises:
        InputError: with the file and SQLite's words: the file is no database, its tables cannot be
            read, or it has none that can be made again.
    """
    try:
        with contextlib.closing(open_database(path)) as connection:
            tables, statements, views = _list_tables(connection)
            if not tables:
                raise InputError(f"{path}: has no table that can be read and made: expected one")
            read = _Sampler(connection, tables, sample).read()
            families = _count_families(connection, tables, {table.name: table for table in read})
            return StoredTables(statements, views, tuple(read), families, has_rowids=True)
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path}: no variants can be made of it: {error}; expected tables that this SQLite,"
            f" {sqlite3.sqlite_version}, reads and makes"
        ) from error


def write_tables(
    path: Path,
    stored: StoredTables,
    rows: Mapping[str, Iterable[Sequence[Any]]],
    *,
    now: str | None,
) -> bytes:
    """Return the file of a database with these rows: the same bytes on every machine.

    Raises:
        RefusedRowsError: a row breaks a rule of its table.
    """
    with _open_empty(stored, now=now) as connection:
        connection.execute("BEGIN")
        for table in _list_insertions(connection, stored):
            try:
                connection.executemany(table.insert, map(table.take, rows.get(table.name, ())))
            except _REFUSALS as error:
                raise RefusedRowsError(f"{path}: {table.name}: {error}") from error
        for view in stored.views:
            connection.execute(view)
        connection.execute("COMMIT")
        return serialize_database(connection)


def open_refilled(
    path: Path, stored: StoredTables, limits: Limits, *, now: str | None
) -> RefilledTables:
    """Open a database in memory that has the tables, indexes and views, and no rows.

    Raises:
        sqlite3.Error: this SQLite cannot make them.
    """
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(
            _open_empty(stored, now=now, kept_statements=_KEPT_STATEMENTS)
        )
        insertions = _list_insertions(connection, stored)
        for view in stored.views:
            connection.execute(view)
        database = RefilledTables(connection, "variant", limits, now=now)
        database.insertions = insertions
        database.opened = stack.pop_all()
        return database


class RefilledTables(RefilledDatabase):
    """A guarded database in memory whose rows are exchanged, while its tables stay."""

    insertions: Sequence[_Insertion] = ()
    opened: contextlib.ExitStack

    def fill_tables(self, rows: Mapping[str, Iterable[Sequence[Any]]], now: str | None) -> None:
        """Replace the rows of all tables; a table without an entry is empty.

        Raises:
            RefusedRowsError: the database refuses a row; then its rows are as they were.
        """
        deletions = [(f"{table.delete};", [()]) for table in self.insertions]
        insertions = [
            (f"{table.insert};", list(map(table.take, rows.get(table.name, ()))))
            for table in self.insertions
        ]
        try:
            self.fill([*deletions, *insertions])
        except _REFUSALS as error:
            raise RefusedRowsError(f"{self.path}: {error}") from error

    def close(self) -> None:
        super().close()
        self.opened.close()


class TriedRows(contextlib.ExitStack):
    """The tables without rows, in which rows of a draft are tried; use it as a context manager."""

    def __init__(self, stored: StoredTables, *, now: str | None) -> None:
        super().__init__()
        self._connection = self.enter_context(_open_empty(stored, now=now))
        insertions = _list_insertions(self._connection, stored)
        self._insertions = {table.name: table for table in insertions}

    def clear(self) -> None:
        """Take back all that was stored, the counters of AUTOINCREMENT as well."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN")

    def store_rows(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Row | None]:
        """Replace the rows of a table. Return each as it is stored, and None for one that SQLite
        refuses: NOT NULL, CHECK, types, generated columns and unique indexes say so."""
        insertion = self._insertions[table]
        self._connection.execute(insertion.delete)
        return [self._insert(insertion, row) for row in rows]

    def _insert(self, insertion: _Insertion, row: Sequence[Any]) -> Row | None:
        try:
            (values,) = self._connection.execute(
                insertion.insert_and_return, insertion.take(row)
            ).fetchall()
        except _REFUSALS:
            return None
        stored: Row = values
        return stored

    def list_refused(
        self, rows: Mapping[str, Sequence[Sequence[Any]]]
    ) -> Mapping[str, Sequence[int]]:
        """Return nothing: foreign keys are off, so that `store_rows` tells all that is refused."""
        return {}


@contextlib.contextmanager
def _open_empty(
    stored: StoredTables, *, now: str | None, kept_statements: int = 128
) -> Iterator[sqlite3.Connection]:
    """Open a database in memory that has the tables and indexes, and no rows.

    kept_statements: how many statements are kept compiled.
    """
    with contextlib.closing(
        sqlite3.connect(":memory:", isolation_level=None, cached_statements=kept_statements)
    ) as connection:
        connection.executescript(f"{LAYOUT}; PRAGMA page_size = {_PAGE_BYTES}")
        with set_clock_of(connection, now):
            for statement in stored.statements:
                connection.execute(statement)
            yield connection


@dataclass(frozen=True, slots=True)
class _Insertion:
    """How rows with a value for each column come into a table: the statements, and the positions of
    the columns that are inserted, all but the generated ones."""

    name: str
    delete: str
    insert: str
    insert_and_return: str
    stored: tuple[int, ...]

    def take(self, row: Sequence[Any]) -> list[Any]:
        """Return the values of a row that are inserted."""
        return [row[column_index] for column_index in self.stored]


def _list_insertions(connection: sqlite3.Connection, stored: StoredTables) -> list[_Insertion]:
    insertions = []
    for table in stored.tables:
        quoted = quote_name(table.name)
        names = [row[1] for row in connection.execute(f"PRAGMA table_xinfo({quoted})")]
        positions = [index for index, name in enumerate(names) if name not in table.generated]
        insert = write_insert(table.name, [names[index] for index in positions])
        returned = ", ".join(map(quote_name, names))
        insertions.append(
            _Insertion(
                name=table.name,
                delete=f"DELETE FROM {quoted}",
                insert=insert,
                insert_and_return=f"{insert} RETURNING {returned}",
                stored=tuple(positions),
            )
        )
    return insertions


def write_insert(table: str, columns: Sequence[str]) -> str:
    """Return the statement that inserts a row into some columns of a table.

    >>> write_insert("ship", ["id", "name"])
    'INSERT INTO "ship" ("id", "name") VALUES (?, ?)'
    """
    names, marks = ", ".join(map(quote_name, columns)), ", ".join("?" * len(columns))
    return f"INSERT INTO {quote_name(table)} ({names}) VALUES ({marks})"


def _list_tables(
    connection: sqlite3.Connection,
) -> tuple[dict[str, _Source], tuple[str, ...], tuple[str, ...]]:
    """Return the tables that can be made, the statements that make them and their indexes, and
    those that make views."""
    ordinary = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    schema = read_schema(connection)
    tables = {}
    for table in schema.tables:
        if (table.name,) in ordinary and table.columns:  # none, if its name is not UTF-8
            columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table.name)})")
            generated = frozenset(column[1] for column in columns if column[6] in _GENERATED)
            tables[table.name] = _Source(table, generated)
    statements = connection.execute(
        "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        " AND type IN ('table', 'index') ORDER BY type = 'index', rowid"
    ).fetchall()
    made = []
    with contextlib.closing(sqlite3.connect(":memory:")) as empty:
        for kind, name, sql in statements:
            if name in tables:
                try:
                    empty.execute(sql)
                    made.append(sql)
                except sqlite3.OperationalError:
                    if kind == "table":
                        del tables[name]
    return tables, tuple(made), tuple(table.sql for table in schema.tables if table.is_view)


@dataclass(frozen=True, slots=True)
class _Source:
    """A table from which rows are read, and its generated columns."""

    table: Table
    generated: frozenset[str]


_MAX_STEPS_OF_FAMILIES = 2_000_000  # to count the rows of a table that refer to others


def _count_families(
    connection: sqlite3.Connection, tables: Mapping[str, _Source], read: Mapping[str, StoredTable]
) -> dict[Reference, Family]:
    """Count the rows that refer to others where not all of them were read."""
    families = {}
    for reference in list_declared([source.table for source in tables.values()]):
        child, parent = read[reference.table], read[reference.parent]
        if len(reference.columns) > 1 or child is parent or (child.is_whole and parent.is_whole):
            continue
        name = quote_name(tables[child.name].table.columns[reference.columns[0]].name)
        sql = (
            f"SELECT count({name}), count(DISTINCT {name}),"
            f" (SELECT count(*) FROM {quote_name(parent.name)}) FROM {quote_name(child.name)}"
        )
        with contextlib.suppress(sqlite3.OperationalError):  # which takes more steps than it may
            connection.set_progress_handler(lambda: 1, _MAX_STEPS_OF_FAMILIES)
            families[reference] = Family(*connection.execute(sql).fetchone())
    connection.set_progress_handler(None, 0)
    return families


# Reading rows: a small database whole, of a large one some rows and the parents of these rows.
#
# A table with more rows than asked for is read in short runs of neighbours by rowid, from places
# that a seed chooses, so that neither the table nor an index is read whole. A row whose parent is
# in the database but found no room refers to nothing instead, or is left out where it must refer
# to something, so that references hold in the rows as they hold in the database.


_RUN_ROWS = 10
_MAX_TIMES_WITH_PARENTS = 3  # times as many rows as asked for, with the parents of others
_MAX_ROW_BYTES = 20_000


class _Sampler:
    """Rows of each table by what tells them apart: the rowid, or the row itself."""

    def __init__(
        self, connection: sqlite3.Connection, tables: Mapping[str, _Source], sample: RowSample
    ) -> None:
        self._connection = connection
        self._tables = tables
        self._max_rows = sample.max_rows
        self._wanted = sample.wanted
        self._random = Random(sample.seed)
        self._rows: dict[str, dict[object, Row]] = {name: {} for name in tables}
        self._whole: set[str] = set()

    def read(self) -> list[StoredTable]:
        for name in self._tables:
            self._read_table(name)
        for name, rowids in self._wanted.items():
            rowid = self._tables[name].table.rowid_name
            for key in sorted(rowids):
                self._add(name, self._select(name, f"WHERE {rowid} = ?", (key,)))
        if len(self._whole) < len(self._tables):
            self._follow_references()
        tables = []
        for name, source in self._tables.items():
            own = self._rows[name]
            rows = [*own.values()]
            if source.table.has_rowid:
                rows = [own[key] for key in sorted(key for key in own if isinstance(key, int))]
            is_whole = name in self._whole
            tables.append(StoredTable(name, rows, source.generated, is_whole=is_whole))
        return tables

    def _select(self, name: str, rest: str, values: Row = ()) -> Iterator[tuple[object, Row]]:
        """Rows, each with what tells it apart."""
        table = self._tables[name].table
        columns = ", ".join(quote_name(column.name) for column in table.columns)
        rowid = table.rowid_name if table.has_rowid else "NULL"
        sql = f"SELECT {rowid}, {columns} FROM {quote_name(name)} {rest}"
        for key, *row in self._connection.execute(sql, values):
            yield (key if table.has_rowid else tuple(row)), tuple(row)

    def _add(self, name: str, rows: Iterable[tuple[object, Row]]) -> None:
        for key, row in rows:
            if sum(len(value) for value in row if isinstance(value, str | bytes)) > _MAX_ROW_BYTES:
                self._whole.discard(name)
            else:
                self._rows[name][key] = row

    def _read_table(self, name: str) -> None:
        table, rows = self._tables[name].table, self._rows[name]
        quoted, rowid = quote_name(name), table.rowid_name
        limit = f"LIMIT {self._max_rows + 1}"
        count = len(self._connection.execute(f"SELECT 1 FROM {quoted} {limit}").fetchall())
        if count <= self._max_rows:
            self._whole.add(name)
        if count <= self._max_rows or not table.has_rowid:
            order = f"ORDER BY {rowid}" if table.has_rowid else ""
            self._add(name, self._select(name, f"{order} LIMIT {self._max_rows}"))
            return
        bounds = f"SELECT (SELECT min({rowid}) FROM {quoted}), (SELECT max({rowid}) FROM {quoted})"
        low, high = self._connection.execute(bounds).fetchone()
        for _ in range(2 * self._max_rows // _RUN_ROWS + 1):
            start = self._random.randint(low, high)
            rest = f"WHERE {rowid} >= ? ORDER BY {rowid} LIMIT {_RUN_ROWS}"
            self._add(name, self._select(name, rest, (start,)))
            if len(rows) >= self._max_rows:
                break

    def _follow_references(self) -> None:
        """Add the parents of rows, and take these from the rows whose parents find no room."""
        references = self._list_references()
        parents: dict[tuple[Reference, Row], object] = {}
        referred = {reference.parent for reference in references}
        first = sorted(self._rows, key=lambda name: name in referred)  # the parents that all need
        new = deque((name, row) for name in first for row in self._rows[name].values())
        while new:
            name, row = new.popleft()
            for reference in (reference for reference in references if reference.table == name):
                link = reference, tuple(row[index] for index in reference.columns)
                if None not in link[1] and link not in parents:
                    key, parent = self._find_parent(*link)
                    parents[link] = key
                    held = self._rows[reference.parent]
                    if (
                        parent
                        and key not in held
                        and len(held) < _MAX_TIMES_WITH_PARENTS * self._max_rows
                    ):
                        self._add(reference.parent, [(key, parent)])
                        new.append((reference.parent, parent))
        has_changed = True
        while has_changed:
            has_changed = False
            for reference in references:
                rows, held = self._rows[reference.table], self._rows[reference.parent]
                for key, row in list(rows.items()):
                    link = reference, tuple(row[index] for index in reference.columns)
                    if parents.get(link) is not None and parents[link] not in held:
                        has_changed = True
                        del rows[key]
                        columns = self._tables[reference.table].table.columns
                        column_index = reference.columns[0]
                        column = columns[column_index]
                        if not (column.is_not_null or column.primary_key):
                            rows[key] = (*row[:column_index], None, *row[column_index + 1 :])

    def _list_references(self) -> list[Reference]:
        """The references whose parents are found without reading a large table."""
        tables = [table.table for table in self._tables.values()]
        references = []
        for reference in list_declared(tables):
            parent = self._tables[reference.parent].table
            keys = [set(find_positions(parent, key) or ()) for key in parent.unique_keys]
            if parent.name in self._whole or set(reference.referred) in keys:
                references.append(reference)
        return references

    def _find_parent(self, reference: Reference, values: Row) -> tuple[object, Row]:
        columns = self._tables[reference.parent].table.columns
        names = [quote_name(columns[column_index].name) for column_index in reference.referred]
        condition = " AND ".join(f"{name} = ?" for name in names)
        return next(
            self._select(reference.parent, f"WHERE {condition} LIMIT 1", values), (None, ())
        )
