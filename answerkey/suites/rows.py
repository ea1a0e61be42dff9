"""Rows of a database in memory, with the statements that make its tables, indexes and views.

What is left out: virtual tables and the tables behind them, which no guarded query reads, and
triggers, which no query fires.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from answerkey.sqlite.files import LAYOUT, serialize_database
from answerkey.sqlite.schema import ForeignKey, Table, fold_name, quote_name

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


# References: the columns of a table by which a row belongs to a row of another table.
#
# Declared references are the foreign keys of the schema. SQLite takes a foreign key whatever it
# names: one whose table or columns are missing refers to nothing, and is left out here.
#
# Other references show by names: `has_pet.StuID` -> `student.StuID`, `pet.owner_id` ->
# `owner.id`.


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_ID_WORDS = {"id", "code", "key", "no", "nr", "num", "number", "uid", "uuid", "guid", "pk"}


class Reference(NamedTuple):
    """Columns of a table, and those of the table that they refer to, by their positions."""

    table: str
    columns: tuple[int, ...]
    parent: str
    referred: tuple[int, ...]


def has_id_name(name: str) -> bool:
    """Whether the last word of a column's name says that it tells rows apart.

    >>> [has_id_name(name) for name in ("StuID", "country_code", "paid", "Number of guests")]
    [True, True, False, False]
    """
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _ID_WORDS


def list_names(table: str, key: str) -> list[str]:
    """The names, in small letters and digits alone, of columns that refer to the key of a table:
    that of the key, if it is more than a word for any id, and that of the table before it.

    >>> list_names("student", "StuID"), list_names("owners", "id")
    (['stuid', 'studentstuid'], ['ownersid', 'ownerid'])
    """
    parts = join_name(table), join_name(key)
    names = [parts[1]] if parts[1] not in _ID_WORDS else []
    return list(dict.fromkeys([*names, "".join(parts), parts[0].removesuffix("s") + parts[1]]))


def join_name(name: str) -> str:
    """The letters and digits of a name.

    >>> join_name("Stu_ID")
    'stuid'
    """
    return "".join(filter(str.isalnum, fold_name(name)))


def list_declared(tables: Sequence[Table]) -> list[Reference]:
    """The foreign keys that name columns which are there, each once."""
    by_name = {fold_name(table.name): table for table in tables}
    found = {
        reference: None
        for table in tables
        for key in table.foreign_keys
        if (reference := _resolve(key, table, by_name.get(fold_name(key.table)))) is not None
    }
    return list(found)


def _resolve(key: ForeignKey, table: Table, parent: Table | None) -> Reference | None:
    if parent is None or len(key.columns) != len(key.referred):
        return None
    columns = find_positions(table, key.columns)
    referred = find_positions(parent, key.referred)
    if columns is None or referred is None or (table, columns) == (parent, referred):
        return None
    return Reference(table.name, columns, parent.name, referred)


def find_positions(table: Table, names: Sequence[str]) -> tuple[int, ...] | None:
    """The positions of columns in a table; None where one is missing."""
    places = {fold_name(column.name): place for place, column in enumerate(table.columns)}
    found = tuple(places.get(fold_name(name), -1) for name in names)
    return None if -1 in found else found
