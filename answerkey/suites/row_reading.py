"""Reading rows: a small database whole, of a large one some rows and the parents of these rows.

A table with more rows than asked for is read in short runs of neighbours by rowid, from places that
a seed chooses, so that neither the table nor an index is read whole. A row whose parent is in the
database but found no room refers to nothing instead, or is left out where it must refer to
something, so that references hold in the rows as they hold in the database.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

from answerkey.base.errors import InputError
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import quote_name, read_schema
from answerkey.suites.rows import (
    Reference,
    Row,
    Rows,
    TableRows,
    find_positions,
    list_declared,
    open_empty,
)

_RUN_ROWS = 10
_ROOM = 3  # times as many rows as asked for, with the parents of others
_MAX_ROW_BYTES = 20_000
_GENERATED = (2, 3)  # as table_xinfo says


def read_rows(path: Path, *, max_rows: int = 1000, seed: int = 0) -> Rows:
    """The rows of a database: of each table at most `max_rows`, and twice as many parents of
    others. Rows of more than 20,000 bytes are left out.

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
            return replace(rows, tables=_Sample(connection, rows, max_rows, seed).read())
    except (sqlite3.Error, UnicodeError) as error:
        raise InputError(
            f"{path}: no variants can be made of it: {error}; expected tables that this SQLite,"
            f" {sqlite3.sqlite_version}, reads and makes"
        ) from error


def _list_tables(connection: sqlite3.Connection) -> Rows:
    """The tables of a database without their rows."""
    ordinary = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    schema = read_schema(connection)
    tables = {}
    for table in schema.tables:
        if (table.name,) in ordinary:
            columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table.name)})")
            stored = (place for place, of in enumerate(columns) if of[6] not in _GENERATED)
            tables[table.name] = TableRows(table, tuple(stored), [])
    statements = connection.execute(
        "SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        " AND type IN ('table', 'index') ORDER BY type = 'index', rowid"
    ).fetchall()
    views = tuple(table.sql for table in schema.tables if table.is_view)
    return Rows(tables, tuple(sql for name, sql in statements if name in tables), views)


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

    def read(self) -> dict[str, TableRows]:
        for name in self._tables:
            self._read_table(name)
        if len(self._whole) < len(self._tables):
            self._follow_references()
        found = {}
        for name, table in self._tables.items():
            own = self._rows[name]
            rows = [own[key] for key in (sorted(own) if table.table.has_rowid else own)]
            found[name] = replace(table, rows=rows, is_whole=name in self._whole)
        return found

    def _select(self, name: str, rest: str, values: Row = ()) -> Iterator[tuple[object, Row]]:
        """Rows, each with what tells it apart."""
        table = self._tables[name].table
        columns = ", ".join(quote_name(column.name) for column in table.columns)
        rowid = table.rowid_name if table.has_rowid else "NULL"
        sql = f"SELECT {rowid}, {columns} FROM {quote_name(name)} {rest}"
        for key, *row in self._connection.execute(sql, values):
            yield (key if table.has_rowid else tuple(row)), tuple(row)

    def _add(self, name: str, found: Iterable[tuple[object, Row]]) -> None:
        """Add the rows that are not too large."""
        for key, row in found:
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
        referred = {one.parent for one in references}
        first = sorted(self._rows, key=lambda name: name in referred)  # the parents that all need
        new = deque((name, row) for name in first for row in self._rows[name].values())
        while new:
            name, row = new.popleft()
            for reference in (one for one in references if one.table == name):
                link = reference, tuple(row[place] for place in reference.columns)
                if None not in link[1] and link not in parents:
                    key, parent = self._find_parent(*link)
                    parents[link] = key
                    held = self._rows[reference.parent]
                    if parent and key not in held and len(held) < _ROOM * self._max_rows:
                        self._add(reference.parent, [(key, parent)])
                        new.append((reference.parent, parent))
        has_changed = True
        while has_changed:
            has_changed = False
            for reference in references:
                rows, held = self._rows[reference.table], self._rows[reference.parent]
                for key, row in list(rows.items()):
                    link = reference, tuple(row[place] for place in reference.columns)
                    if parents.get(link) is not None and parents[link] not in held:
                        has_changed = True
                        del rows[key]
                        columns = self._tables[reference.table].table.columns
                        place = reference.columns[0]
                        if not (columns[place].is_not_null or columns[place].primary_key):
                            rows[key] = (*row[:place], None, *row[place + 1 :])

    def _list_references(self) -> list[Reference]:
        """The references whose parents are found without reading a large table."""
        tables = [table.table for table in self._tables.values()]
        found = []
        for reference in list_declared(tables):
            parent = self._tables[reference.parent].table
            keys = [set(find_positions(parent, key) or ()) for key in parent.unique_keys]
            if parent.name in self._whole or set(reference.referred) in keys:
                found.append(reference)
        return found

    def _find_parent(self, reference: Reference, values: Row) -> tuple[object, Row]:
        columns = self._tables[reference.parent].table.columns
        names = [quote_name(columns[place].name) for place in reference.referred]
        condition = " AND ".join(f"{name} = ?" for name in names)
        return next(
            self._select(reference.parent, f"WHERE {condition} LIMIT 1", values), (None, ())
        )
