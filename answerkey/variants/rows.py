"""Rows of a database in memory, with the statements that make its tables, indexes and views.

What is left out: virtual tables and the tables behind them, which no guarded query reads,
triggers, which no query fires, and what this SQLite cannot make, such as a table whose collation
only an application has.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.engines.schema import ForeignKey, Table, fold_name, quote_name
from answerkey.engines.sqlite.clock import set_clock_of
from answerkey.engines.sqlite.files import LAYOUT, open_database, serialize_database
from answerkey.engines.sqlite.schema import read_schema

_PAGE_BYTES = 512  # the least: a table takes a page at least, and a small database is few of them
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableRows:
    """A table and rows of it, with a value for each of its columns.

    stored: the positions of the columns that are inserted: all but the generated ones.
    is_whole: whether these are all rows of the database.
    """

    table: Table
    stored: tuple[int, ...]
    rows: list[Row]
    is_whole: bool = True

    @property
    def name(self) -> str:
        return self.table.name

    def values(self, column_index: int) -> Iterator[Any]:
        """The values of a column, NULL left out."""
        return (row[column_index] for row in self.rows if row[column_index] is not None)

    @property
    def insert(self) -> str:
        """The statement that inserts a row, given its stored values."""
        names = ", ".join(quote_name(self.table.columns[index].name) for index in self.stored)
        marks = ", ".join("?" * len(self.stored))
        return f"INSERT INTO {quote_name(self.name)} ({names}) VALUES ({marks})"

    def take_stored(self, row: Sequence[Any]) -> list[Any]:
        """The values of a row that are inserted."""
        return [row[column_index] for column_index in self.stored]


class Reference(NamedTuple):
    """Columns of a table, and those of the table that they refer to, by their positions."""

    table: str
    columns: tuple[int, ...]
    parent: str
    referred: tuple[int, ...]


class Family(NamedTuple):
    """How many rows refer to others, to how many, and how many of these there are."""

    children: int
    referred: int
    parents: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables of a database by name, in the order of their creation, and the statements that
    make them and their indexes, and its views.

    families: by declared reference, how many rows refer to others in the database, to how many,
        and how many of these there are, as far as counting them takes little.
    now: what the clock says in a CHECK.
    """

    tables: dict[str, TableRows]
    statements: tuple[str, ...]
    views: tuple[str, ...]
    families: Mapping[Reference, Family] = field(default_factory=dict)
    now: str | None = None

    def with_rows(self, rows: dict[str, list[Row]]) -> Rows:
        """The same database with other rows."""
        tables = {
            name: replace(table, rows=rows.get(name, [])) for name, table in self.tables.items()
        }
        return replace(self, tables=tables)


@contextlib.contextmanager
def open_empty(rows: Rows, *, kept_statements: int = 128) -> Iterator[sqlite3.Connection]:
    """A database in memory that has the tables and indexes, and no rows.

    kept_statements: how many statements are kept compiled.

    Raises:
        sqlite3.Error: where this SQLite cannot make them.
    """
    with contextlib.closing(
        sqlite3.connect(":memory:", isolation_level=None, cached_statements=kept_statements)
    ) as connection:
        connection.executescript(f"{LAYOUT}; PRAGMA page_size = {_PAGE_BYTES}")
        with set_clock_of(connection, rows.now):
            for statement in rows.statements:
                connection.execute(statement)
            yield connection


def serialize_rows(rows: Rows) -> bytes:
    """The bytes of a database file with these rows: the same on every machine.

    Raises:
        sqlite3.IntegrityError: where a row breaks a rule of its table; those of a variant do not.
    """
    with open_empty(rows) as connection:
        connection.execute("BEGIN")
        for table in rows.tables.values():
            connection.executemany(table.insert, map(table.take_stored, table.rows))
        for view in rows.views:
            connection.execute(view)
        connection.execute("COMMIT")
        return serialize_database(connection)


# References: the columns of a table by which a row belongs to a row of another table.
#
# Declared references are the foreign keys of the schema. SQLite takes a foreign key whatever it
# names: one whose table or columns are missing refers to nothing, and is left out here.


def list_declared(tables: Sequence[Table]) -> list[Reference]:
    """The foreign keys that name columns which are there, each once."""
    by_name = {fold_name(table.name): table for table in tables}
    references = {
        reference: None
        for table in tables
        for key in table.foreign_keys
        if (reference := _resolve(key, table, by_name.get(fold_name(key.table)))) is not None
    }
    return list(references)


def _resolve(key: ForeignKey, table: Table, parent: Table | None) -> Reference | None:
    if parent is None or len(key.columns) != len(key.referred):
        return None
    columns = find_positions(table, key.columns)
    referred = find_positions(parent, key.referred)
    if columns is None or referred is None or (table, columns) == (parent, referred):
        return None
    return Reference(table.name, columns, parent.name, referred)


def find_positions(table: Table, names: Sequence[str]) -> tuple[int, ...] | None:
    """The positions of columns in a table; None if one is missing."""
    indexes = {fold_name(column.name): index for index, column in enumerate(table.columns)}
    positions = tuple(indexes.get(fold_name(name), -1) for name in names)
    return None if -1 in positions else positions


# Reading rows: a small database whole, of a large one some rows and the parents of these rows.
#
# A table with more rows than asked for is read in short runs of neighbours by rowid, from places
# that a seed chooses, so that neither the table nor an index is read whole. A row whose parent is
# in the database but found no room refers to nothing instead, or is left out where it must refer
# to something, so that references hold in the rows as they hold in the database.


_RUN_ROWS = 10
_MAX_TIMES_WITH_PARENTS = 3  # times as many rows as asked for, with the parents of others
_MAX_ROW_BYTES = 20_000
_MAX_STEPS_OF_FAMILIES = 2_000_000  # to count the rows of a table that refer to others
_GENERATED = (2, 3)  # as table_xinfo says


def read_rows(
    path: Path,
    *,
    max_rows: int = 1000,
    seed: int = 0,
    wanted: Mapping[str, Iterable[int]] = MappingProxyType({}),
    now: str | None = None,
) -> Rows:
    """The rows of a database: of each table at most `max_rows`, and twice as many parents of
    others. Rows of more than 20,000 bytes are left out.

    wanted: by table, the rowids of rows that are read as well.
    now: what the clock says to the rules of tables.

    Raises:
        InputError: with the file and SQLite's words, where the file is no database, where its
            tables cannot be read, and where it has none that can be made again.
    """
    try:
        with contextlib.closing(open_database(path)) as connection:
            rows = _list_tables(connection)
            if not rows.tables:
                raise InputError(f"{path}: has no table that can be read and made: expected one")
            sampled = replace(rows, tables=_Sample(connection, rows, max_rows, seed).read(wanted))
            return replace(sampled, families=_count_families(connection, sampled), now=now)
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path}: no variants can be made of it: {error}; expected tables that this SQLite,"
            f" {sqlite3.sqlite_version}, reads and makes"
        ) from error


def _count_families(connection: sqlite3.Connection, rows: Rows) -> dict[Reference, Family]:
    """Count the rows that refer to others where not all of them were read."""
    families = {}
    for reference in list_declared([table.table for table in rows.tables.values()]):
        child, parent = rows.tables[reference.table], rows.tables[reference.parent]
        if len(reference.columns) > 1 or child is parent or (child.is_whole and parent.is_whole):
            continue
        name = quote_name(child.table.columns[reference.columns[0]].name)
        sql = (
            f"SELECT count({name}), count(DISTINCT {name}),"
            f" (SELECT count(*) FROM {quote_name(parent.name)}) FROM {quote_name(child.name)}"
        )
        with contextlib.suppress(sqlite3.OperationalError):  # which takes more steps than it may
            connection.set_progress_handler(lambda: 1, _MAX_STEPS_OF_FAMILIES)
            families[reference] = Family(*connection.execute(sql).fetchone())
    connection.set_progress_handler(None, 0)
    return families


def _list_tables(connection: sqlite3.Connection) -> Rows:
    ordinary = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    schema = read_schema(connection)
    tables = {}
    for table in schema.tables:
        if (table.name,) in ordinary and table.columns:  # none, if its name is not UTF-8
            columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table.name)})")
            stored = (index for index, column in enumerate(columns) if column[6] not in _GENERATED)
            tables[table.name] = TableRows(table, tuple(stored), [])
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
    views = tuple(table.sql for table in schema.tables if table.is_view)
    return Rows(tables, tuple(made), views)


class _Sample:
    """Rows of each table by what tells them apart: the rowid, or the row itself."""

    def __init__(
        self, connection: sqlite3.Connection, rows: Rows, max_rows: int, seed: int
    ) -> None:
        self._connection = connection
        self._tables = rows.tables
        self._max_rows = max_rows
        self._random = Random(seed)
        self._rows: dict[str, dict[object, Row]] = {name: {} for name in rows.tables}
        self._whole: set[str] = set()

    def read(self, wanted: Mapping[str, Iterable[int]]) -> dict[str, TableRows]:
        for name in self._tables:
            self._read_table(name)
        for name, rowids in wanted.items():
            rowid = self._tables[name].table.rowid_name
            for key in sorted(rowids):
                self._add(name, self._select(name, f"WHERE {rowid} = ?", (key,)))
        if len(self._whole) < len(self._tables):
            self._follow_references()
        tables = {}
        for name, table in self._tables.items():
            own = self._rows[name]
            rows = [*own.values()]
            if table.table.has_rowid:
                rows = [own[key] for key in sorted(key for key in own if isinstance(key, int))]
            tables[name] = replace(table, rows=rows, is_whole=name in self._whole)
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
