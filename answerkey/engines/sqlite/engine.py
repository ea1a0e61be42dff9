"""SQLite as an engine: it needs the standard library alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from answerkey.engines.database import Limits
from answerkey.engines.opening import SQLITE, SUFFIXES
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.reordered import open_reordered
from answerkey.engines.sqlite.schema import read_schema


class SQLiteEngine:
    """SQLite, as `Engine` describes it."""

    name = SQLITE
    title = "SQLite"
    suffix = SUFFIXES[SQLITE]
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


ENGINE = SQLiteEngine()
