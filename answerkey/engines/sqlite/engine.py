"""SQLite as an engine: it needs the standard library alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from answerkey.engines.database import Limits
from answerkey.engines.engine import WHOLE_SAMPLE, RowSample, StoredTables
from answerkey.engines.names import SQLITE
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite import tables
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.reordered import open_reordered
from answerkey.engines.sqlite.schema import read_schema


class SQLiteEngine:
    """SQLite, as `Engine` describes it."""

    name = SQLITE
    counts_steps = True

    def version(self) -> str:
        """Return the version of the library."""
        return sqlite3.sqlite_version

    def open(
        self, path: Path, limits: Limits | None = None, *, now: str | None = None
    ) -> GuardedDatabase:
        """Open a file for untrusted SQL."""
        return GuardedDatabase(path, limits, now=now)

    def read_schema(self, path: Path) -> Schema:
        """Return the tables and views of a file."""
        with closing(open_database(path)) as connection:
            return read_schema(connection)

    def open_reordered(
        self, path: Path, limits: Limits | None, *, now: str | None, folder: Path | None
    ) -> GuardedDatabase | None:
        """Open a copy that stores the rows of each table in the reverse order."""
        return open_reordered(path, limits, now=now, folder=folder)

    def read_tables(
        self, path: Path, *, now: str | None, sample: RowSample = WHOLE_SAMPLE
    ) -> StoredTables:
        """Take a file apart."""
        return tables.read_tables(path, now=now, sample=sample)

    def write_tables(
        self,
        path: Path,
        stored: StoredTables,
        rows: Mapping[str, Iterable[Sequence[Any]]],
        *,
        now: str | None,
    ) -> bytes:
        """Return the bytes of a file."""
        return tables.write_tables(path, stored, rows, now=now)

    def open_refilled(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> tables.RefilledTables:
        """Open a database in memory whose rows are exchanged."""
        return tables.open_refilled(path, stored, limits, now=now)

    def open_tried(self, path: Path, stored: StoredTables, *, now: str | None) -> tables.TriedRows:
        """Open a database in memory in which rows are tried."""
        return tables.TriedRows(stored, now=now)


ENGINE = SQLiteEngine()
