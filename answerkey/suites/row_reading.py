"""Reading rows: a small database whole, of a large one some rows and the parents of these rows.

A table with more rows than asked for is read in short runs of neighbours by rowid, from places that
a seed chooses, so that neither the table nor an index is read whole. A table without a rowid gives
the first rows by its primary key. Then the parents of what was read are looked up by their keys,
and theirs, within a bound. A row whose parent is in the database but found no room refers to
nothing instead, or is left out where it must refer to something, so that references hold in the
rows as they hold in the database.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

from answerkey.errors import InputError
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import Schema, Table, quote_name, read_schema
from answerkey.suites.rows import (
    Reference,
    Row,
    Rows,
    TableRows,
    find_positions,
    list_declared,
    list_named,
    open_empty,
)

_RUN_ROWS = 10
_ROOM = 3  # times as many rows as asked for, with the parents of others
_MAX_ROW_BYTES = 20_000
_MAX_TABLE_BYTES = 5_000_000
_GENERATED = (2, 3)  # as table_xinfo says


def read_rows(path: Path, *, max_rows: int = 1000, seed: int = 0) -> Rows:
    """The rows of a database: of each table at most `max_rows`, and twice as many parents of
    others.

    Rows of more than 20,000 bytes are left out, and a table ends at 5 MB.

    Raises:
        InputError: with the file and SQLite's words, where the file is no database, where its
            tables cannot be read or made again, and where it has none.
    """
    try:
        with closing(open_database(path)) as connection:
            connection.text_factory = lambda text: text.decode(errors="replace")
            rows = _list_tables(connection)
            if not rows.tables:
                raise InputError(f"{path}: has no table that can be read: expected one")
            with open_empty(rows):
                pass
            sample = _Sample(connection, rows, max_rows, seed)
            found = sample.read()
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path}: no variants can be made of it: {error}; expected tables that this SQLite,"
            f" {sqlite3.sqlite_version}, reads and makes"
        ) from error
    tables = {
        name: replace(table, rows=found[name], is_whole=sample.is_whole[name])
        for name, table in rows.tables.items()
    }
    return replace(rows, tables=tables)


def _list_tables(connection: sqlite3.Connection) -> Rows:
    """The tables of a database without their rows."""
    ordinary = {
        name
        for (name,) in connection.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
        )
    }
    schema: Schema = read_schema(connection)
    tables = {
        table.name: TableRows(table, _list_stored(connection, table), [])
        for table in schema.tables
        if table.name in ordinary
    }
    statements = connection.execute(
        "SELECT type, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        " AND type IN ('table', 'index') ORDER BY type = 'index', rowid"
    ).fetchall()
    views = tuple(table.sql for table in schema.tables if table.is_view)
    return Rows(tables, tuple(sql for _, name, sql in statements if name in tables), views)


def _list_stored(connection: sqlite3.Connection, table: Table) -> tuple[int, ...]:
    columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table.name)})")
    return tuple(place for place, column in enumerate(columns) if column[6] not in _GENERATED)


class _Sample:
    """Rows of each table by what tells them apart: the rowid, or the row itself."""

    def __init__(
        self, connection: sqlite3.Connection, rows: Rows, max_rows: int, seed: int
    ) -> None:
        self._connection = connection
        self._tables = {name: table.table for name, table in rows.tables.items()}
        self._max_rows = max_rows
        self._random = Random(seed)
        self._rows: dict[str, dict[object, Row]] = {name: {} for name in rows.tables}
        self._bytes = dict.fromkeys(rows.tables, 0)
        self.is_whole: dict[str, bool] = {}

    def read(self) -> dict[str, list[Row]]:
        for name, table in self._tables.items():
            self._read_table(name, table)
        if not all(self.is_whole.values()):
            self._follow_references()
        return {
            name: [rows[key] for key in sorted(rows)] if self._rowid(name) else list(rows.values())
            for name, rows in self._rows.items()
        }

    def _rowid(self, name: str) -> str | None:
        table = self._tables[name]
        return table.rowid_name if table.has_rowid else None

    def _select(self, name: str, rest: str, values: Row = ()) -> Iterator[tuple[object, Row]]:
        """Rows, each with what tells it apart."""
        table = self._tables[name]
        columns = ", ".join(quote_name(column.name) for column in table.columns)
        rowid = self._rowid(name)
        sql = f"SELECT {rowid or 'NULL'}, {columns} FROM {quote_name(name)} {rest}"
        for key, *row in self._connection.execute(sql, values):
            yield (tuple(row) if rowid is None else key), tuple(row)

    def _read_table(self, name: str, table: Table) -> None:
        rows = self._rows[name]
        rowid = self._rowid(name)
        order = f"ORDER BY {rowid}" if rowid else ""
        if rowid is None and table.unique_keys:
            order = "ORDER BY " + ", ".join(map(quote_name, table.unique_keys[0]))
        quoted = quote_name(name)
        limit = f"LIMIT {self._max_rows + 1}"
        found = self._connection.execute(f"SELECT 1 FROM {quoted} {limit}").fetchall()
        self.is_whole[name] = len(found) <= self._max_rows
        if self.is_whole[name] or rowid is None:
            has_room = self._add(name, self._select(name, f"{order} LIMIT {self._max_rows}"))
            self.is_whole[name] &= has_room
            return
        bounds = f"SELECT (SELECT min({rowid}) FROM {quoted}), (SELECT max({rowid}) FROM {quoted})"
        low, high = self._connection.execute(bounds).fetchone()
        for _ in range(2 * self._max_rows // _RUN_ROWS + 1):
            start = self._random.randint(low, high)
            rest = f"WHERE {rowid} >= ? {order} LIMIT {_RUN_ROWS}"
            if not self._add(name, self._select(name, rest, (start,))):
                break
            if len(rows) >= self._max_rows:
                break

    def _add(self, name: str, found: Iterator[tuple[object, Row]]) -> bool:
        """Whether there was room for all that was found."""
        for key, row in found:
            row_bytes = _count_bytes(row)
            if row_bytes > _MAX_ROW_BYTES:
                self.is_whole[name] = False
            elif self._bytes[name] + row_bytes > _MAX_TABLE_BYTES:
                return False
            elif key not in self._rows[name]:
                self._bytes[name] += row_bytes
                self._rows[name][key] = row
        return True

    def _follow_references(self) -> None:
        """Add the parents of rows, and take these from the rows whose parents find no room."""
        references = self._list_references()
        parents: dict[tuple[Reference, Row], object] = {}
        referred = {found.parent for found in chain.from_iterable(references.values())}
        first = sorted(self._rows, key=lambda name: name in referred)  # the parents that all need
        new = deque((name, row) for name in first for row in self._rows[name].values())
        while new:
            name, row = new.popleft()
            for reference in references.get(name, ()):
                link = reference, _take(row, reference.columns)
                if None not in link[1] and link not in parents:
                    parents[link], added = self._find_parent(*link)
                    new.extend((reference.parent, parent) for parent in added)
        has_changed = True
        while has_changed:
            has_changed = False
            for reference in chain.from_iterable(references.values()):
                rows, held = self._rows[reference.table], self._rows[reference.parent]
                for key, row in list(rows.items()):
                    parent = parents.get((reference, _take(row, reference.columns)))
                    if parent is not None and parent not in held:
                        has_changed = True
                        del rows[key]
                        if (place := self._find_nullable(reference)) is not None:
                            rows[key] = (*row[:place], None, *row[place + 1 :])

    def _find_nullable(self, reference: Reference) -> int | None:
        """The position of a column without which a row would refer to nothing."""
        columns = self._tables[reference.table].columns
        return next(
            (
                place
                for place in reference.columns
                if not (columns[place].is_not_null or columns[place].primary_key)
            ),
            None,
        )

    def _list_references(self) -> dict[str, list[Reference]]:
        """By table, the references whose parents are found without reading a large table."""
        tables = list(self._tables.values())
        found: dict[str, list[Reference]] = {}
        for reference in dict.fromkeys([*list_declared(tables), *list_named(tables)]):
            parent = self._tables[reference.parent]
            keys = [set(find_positions(parent, key) or ()) for key in parent.unique_keys]
            if self.is_whole[parent.name] or set(reference.referred) in keys:
                found.setdefault(reference.table, []).append(reference)
        return found

    def _find_parent(self, reference: Reference, values: Row) -> tuple[object, list[Row]]:
        """What tells the parent apart, None where there is none, and the parent where it is new
        and there is room for it."""
        columns = self._tables[reference.parent].columns
        names = [quote_name(columns[place].name) for place in reference.referred]
        condition = " AND ".join(f"{name} = ?" for name in names)
        found = next(self._select(reference.parent, f"WHERE {condition} LIMIT 1", values), None)
        if found is None:
            return None, []
        key, row = found
        rows = self._rows[reference.parent]
        if key in rows or len(rows) >= _ROOM * self._max_rows:
            return key, []
        self._add(reference.parent, iter([found]))
        return key, [row] if key in rows else []


def _take(row: Row, places: tuple[int, ...]) -> Row:
    return tuple(row[place] for place in places)


def _count_bytes(row: Row) -> int:
    return sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
