"""Rows of a database in memory, with the statements that make its tables, indexes and views, as its
engine takes it apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from answerkey.engines.database import Limits
from answerkey.engines.engine import RefilledDatabase, RowSample, StoredTables, TriedRows
from answerkey.engines.opening import find_engine
from answerkey.engines.references import Family, Reference
from answerkey.engines.sampling import choose_sample
from answerkey.engines.schema import Table
from answerkey.engines.typed_values import ColumnType, read_types

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TableRows:
    """A table and rows of it, with a value for each of its columns.

    stored: the positions of the columns that are inserted: all but the generated ones.
    types: what the declared type of each column means.
    is_whole: whether these are all rows of the database.
    """

    table: Table
    stored: tuple[int, ...]
    types: tuple[ColumnType, ...]
    rows: list[Row]
    is_whole: bool = True

    @property
    def name(self) -> str:
        return self.table.name

    def values(self, column_index: int) -> Iterator[Any]:
        """The values of a column, NULL left out."""
        return (row[column_index] for row in self.rows if row[column_index] is not None)

    def take_stored(self, row: Sequence[Any]) -> list[Any]:
        """The values of a row that are inserted."""
        return [row[column_index] for column_index in self.stored]


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables of a database by name, in the order of their creation.

    path: of the database, which tells its engine, and `stored` what the engine read of it.
    now: what the clock says in a CHECK.
    """

    path: Path
    stored: StoredTables
    tables: dict[str, TableRows]
    now: str | None = None

    @property
    def families(self) -> Mapping[Reference, Family]:
        """By declared reference, how many rows refer to others in the database."""
        return self.stored.families

    def with_rows(self, rows: dict[str, list[Row]]) -> Rows:
        """The same database with other rows."""
        tables = {
            name: replace(table, rows=rows.get(name, [])) for name, table in self.tables.items()
        }
        return replace(self, tables=tables)

    def list_rows(self) -> dict[str, list[Row]]:
        """The rows of each table."""
        return {name: table.rows for name, table in self.tables.items()}


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
        InputError: with the file and the engine's words, where the file is no database, where its
            tables cannot be read, and where it has none that can be made again.
    """
    engine = find_engine(path)
    sample = RowSample(max_rows, seed, wanted)
    stored = engine.read_tables(path, now=now, sample=sample)
    schema = engine.read_schema(path)
    known = {table.name: table for table in schema.tables}
    if any(own.is_whole and len(own.rows) > max_rows for own in stored.tables):
        stored = choose_sample(stored, known, sample)
    tables = {}
    for own in stored.tables:
        table = known[own.name]
        positions = (
            index for index, column in enumerate(table.columns) if column.name not in own.generated
        )
        types = read_types(table, engine.name, own.allowed)
        tables[own.name] = TableRows(table, tuple(positions), types, own.rows, own.is_whole)
    return Rows(path, stored, tables, now)


def open_tried(rows: Rows) -> TriedRows:
    """The tables of a database without rows, to try the rows of variants."""
    return find_engine(rows.path).open_tried(rows.path, rows.stored, now=rows.now)


def open_refilled(rows: Rows, limits: Limits, *, now: str | None) -> RefilledDatabase:
    """A database that has the tables and views, and no rows so far."""
    return find_engine(rows.path).open_refilled(rows.path, rows.stored, limits, now=now)


def serialize_rows(rows: Rows) -> bytes:
    """The bytes of a database file with these rows: the same on every machine.

    Raises:
        RefusedRowsError: a row breaks a rule of its table; those of a variant do not.
    """
    engine = find_engine(rows.path)
    return engine.write_tables(rows.path, rows.stored, rows.list_rows(), now=rows.now)
