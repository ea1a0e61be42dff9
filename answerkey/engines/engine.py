"""What an engine is: how a database of it is opened, described, copied and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Protocol, Self

from answerkey.engines.database import Database, Limits
from answerkey.engines.references import Family, Reference
from answerkey.engines.schema import Schema

Row = tuple[Any, ...]  # as it is stored: SQLite's may hold bytes, which no answer does


class RefusedRowsError(ValueError):
    """The database refuses a row: a type, an enum, a domain or a CHECK does not hold."""


class RowSample(NamedTuple):
    """Which rows are read of a large database: of each table about `max_rows`, which the seed
    chooses, and their parents.

    wanted: by table, the rowids of rows that are read as well, where the engine has rowids.
    """

    max_rows: int = 1000
    seed: int = 0
    wanted: Mapping[str, Iterable[int]] = MappingProxyType({})


WHOLE_SAMPLE = RowSample()


@dataclass(frozen=True, slots=True)
class StoredTable:
    """Rows of a table, as JSON values, each with a value for each column in the schema's order.

    generated: the columns whose values the database computes; they are not inserted.
    allowed: by column, the only texts that its type allows (an enum).
    is_whole: whether these are all rows of the database.
    """

    name: str
    rows: list[Row]
    generated: frozenset[str] = frozenset()
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class StoredTables:
    """A database taken apart: what makes its types, tables and indexes; what makes its views; and
    its rows, by table, in the order in which tables are created.

    families: by declared reference, how many rows refer to others in the database, to how many,
        and how many of these there are, where not all rows were read and counting takes little.
    has_rowids: whether a query can name the rowid of a row, as in SQLite.
    """

    statements: tuple[str, ...]
    views: tuple[str, ...]
    tables: tuple[StoredTable, ...]
    families: Mapping[Reference, Family] = field(default_factory=dict)
    has_rowids: bool = False


class RefilledDatabase(Database, Protocol):
    """A database whose rows are exchanged, while its tables stay."""

    def fill_tables(self, rows: Mapping[str, Iterable[Sequence[Any]]], now: str | None) -> None:
        """Replace the rows of all tables; a table without an entry is empty. Each row has a value
        for each column; those of generated columns are left out.

        Raises:
            RefusedRowsError: the database refuses a row; then its rows are as they were.
        """


class TriedRows(Protocol):
    """Tables without rows, in which the rows of a variant are tried before there is a database of
    them; use it as a context manager."""

    def clear(self) -> None:
        """Take all rows out."""

    def store_rows(self, table: str, rows: Sequence[Sequence[Any]]) -> list[Row | None]:
        """Replace the rows of a table. Return each as the table stores it, None for one that it
        refuses by itself, whatever other tables hold."""

    def list_refused(
        self, rows: Mapping[str, Sequence[Sequence[Any]]]
    ) -> Mapping[str, Sequence[int]]:
        """Return by table the indexes of the rows that the database refuses where each table takes
        its own."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> bool | None: ...


class Engine(Protocol):
    """An engine.

    name: as in `corpora.NAME.engine`; sqlglot's name of its dialect, too.
    counts_steps: whether a query has a number of steps, the same on every machine.
    """

    name: str
    counts_steps: bool

    def version(self) -> str:
        """Return its version, which decides answers: shards are made again for another one."""

    def open(self, path: Path, limits: Limits | None = None, *, now: str | None = None) -> Database:
        """Open a database for untrusted SQL.

        now: the instant that queries read from the clock; None: those that read it are refused.

        Raises:
            FileNotFoundError: there is no such file.
            sqlite3.DatabaseError: the file is no database, or a corrupt one.
        """

    def read_schema(self, path: Path) -> Schema:
        """Return the tables and views of a database."""

    def open_reordered(
        self, path: Path, limits: Limits | None, *, now: str | None, folder: Path | None
    ) -> Database | None:
        """Open a copy of a database that stores the rows of each table in the reverse order; None
        if it is too large. The copy is gone when it is closed."""

    def read_tables(
        self, path: Path, *, now: str | None, sample: RowSample = WHOLE_SAMPLE
    ) -> StoredTables:
        """Take a database apart.

        sample: of a large database. An engine may read all rows, whatever it says.

        Raises:
            InputError: the tables of the database cannot be read and made again.
        """

    def write_tables(
        self,
        path: Path,
        stored: StoredTables,
        rows: Mapping[str, Iterable[Sequence[Any]]],
        *,
        now: str | None,
    ) -> bytes:
        """Return the file of a database with the same tables and views, and other rows: the same
        bytes on every machine. path: the database that was taken apart.

        Raises:
            RefusedRowsError: the database refuses a row.
        """

    def open_refilled(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> RefilledDatabase:
        """Open a database with the tables and views, and without rows."""

    def open_tried(self, path: Path, stored: StoredTables, *, now: str | None) -> TriedRows:
        """Open the tables without rows, to try the rows of variants."""
