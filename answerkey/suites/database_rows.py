"""Rows of a database in memory, with the statements that make its tables, indexes and views.

What is left out: virtual tables and the tables behind them, which no guarded query reads, and
triggers, which no query fires.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from answerkey.sqlite.file_layout import LAYOUT, serialize_database
from answerkey.sqlite.schema import Table, quote_name

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
        """The name of the table as the schema spells it."""
        return self.table.name

    def values(self, place: int) -> Iterator[Any]:
        """The values of a column, NULL left out."""
        return (row[place] for row in self.rows if row[place] is not None)

    @property
    def insert(self) -> str:
        """The statement that inserts a row, given its stored values."""
        names = ", ".join(quote_name(self.table.columns[place].name) for place in self.stored)
        places = ", ".join("?" * len(self.stored))
        return f"INSERT INTO {quote_name(self.name)} ({names}) VALUES ({places})"

    def take_stored(self, row: Iterable[Any]) -> list[Any]:
        """The values of a row that are inserted."""
        row = list(row)
        return [row[place] for place in self.stored]


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables of a database by name, in the order of their creation, and the statements that
    make them and their indexes, and its views."""

    tables: dict[str, TableRows]
    statements: tuple[str, ...]
    views: tuple[str, ...]

    def with_rows(self, rows: dict[str, list[Row]]) -> Rows:
        """The same database with other rows."""
        tables = {
            name: replace(table, rows=rows.get(name, [])) for name, table in self.tables.items()
        }
        return replace(self, tables=tables)


@contextlib.contextmanager
def open_empty(rows: Rows) -> Iterator[sqlite3.Connection]:
    """A database in memory that has the tables and indexes, and no rows.

    Raises:
        sqlite3.Error: where this SQLite cannot make them.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(f"{LAYOUT}; PRAGMA page_size = {_PAGE_BYTES}")
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


def write_rows(rows: Rows, path: Path) -> None:
    """Write the database file of these rows, in place of any that is there; raises as
    `serialize_rows`."""
    path.write_bytes(serialize_rows(rows))
