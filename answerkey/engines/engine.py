"""What an engine is: how a database of it is opened, described, copied and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from answerkey.engines.database import Database, Limits, Row
from answerkey.engines.schema import Schema


class RefusedRowsError(ValueError):
    """The database refuses a row: a type, an enum, a domain or a CHECK does not hold."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The rows of a table, as JSON values.

    generated: the columns whose values the database computes; they are not inserted.
    allowed: by column, the only texts that its type allows (an enum).
    """

    name: str
    rows: list[Row]
    generated: frozenset[str] = frozenset()
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredTables:
    """A database taken apart: what makes its types, tables and indexes; what makes its views; and
    its rows, by table, in the order in which tables are created."""

    statements: tuple[str, ...]
    views: tuple[str, ...]
    tables: tuple[StoredTable, ...]


class RefilledDatabase(Database, Protocol):
    """A database whose rows are exchanged, while its tables stay."""

    def fill_tables(self, rows: Mapping[str, Iterable[Sequence[Any]]], now: str | None) -> None:
        """Replace the rows of all tables; a table without an entry is empty.

        Raises:
            RefusedRowsError: the database refuses a row; then its rows are as they were.
        """


class Engine(Protocol):
    """An engine.

    name: as in `corpora.NAME.engine`; sqlglot's name of its dialect, too.
    title: its name as people write it.
    suffix: how the files of its databases end.
    counts_steps: whether a query has a number of steps, the same on every machine.
    """

    name: str
    title: str
    suffix: str
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

    def read_tables(self, path: Path, *, now: str | None) -> StoredTables:
        """Take a database apart."""

    def write_tables(
        self, path: Path, stored: StoredTables, rows: Mapping[str, Iterable[Sequence[Any]]]
    ) -> bytes:
        """Return the file of a database with the same tables and views, and other rows: the same
        bytes on every machine. path: the database that was taken apart."""

    def open_refilled(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> RefilledDatabase:
        """Open a database with the tables and views, and without rows."""
