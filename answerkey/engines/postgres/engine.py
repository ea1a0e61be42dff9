"""PostgreSQL as an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from answerkey.engines.database import Limits
from answerkey.engines.engine import WHOLE_SAMPLE, RowSample, StoredTables
from answerkey.engines.names import POSTGRES
from answerkey.engines.postgres.embedded import find_wheel
from answerkey.engines.postgres.guard import PostgresDatabase
from answerkey.engines.postgres.loading import build_empty, build_from_text, read_text
from answerkey.engines.postgres.refilled import RefilledPostgres
from answerkey.engines.postgres.schema import read_schema
from answerkey.engines.postgres.server import find_server, read_version
from answerkey.engines.postgres.tables import read_tables, split_statements, write_tables
from answerkey.engines.schema import Schema
from answerkey.engines.tried import TypedRows, open_typed

find_wheel()  # or ModuleNotFoundError tells which package is missing
_ANY_INSTANT = "2000-01-01"  # tables are the same at all of them
_MAX_REORDERED_BYTES = 200_000_000  # of text


class PostgresEngine:
    """PostgreSQL in the embedded server, or in one of the user's own."""

    name = POSTGRES
    counts_steps = False

    def version(self) -> str:
        """Return the version of Postgres, such as 18.6."""
        return read_version()

    def open(
        self, path: Path, limits: Limits | None = None, *, now: str | None = None
    ) -> PostgresDatabase:
        """Open the database of a text for untrusted SQL; it is built first, once a machine.

        Raises:
            FileNotFoundError: there is no such file.
            DumpError: the text is no dump, or its rows depend on a clock that there is not.
        """
        return PostgresDatabase(path, limits, partial(build_from_text, path, now), now=now)

    def read_schema(self, path: Path) -> Schema:
        """Return the tables and views of a database. Its rows are not needed, and no clock."""
        settings = read_text(path).settings
        name = build_empty(path, split_statements(path), settings, _ANY_INSTANT)
        with find_server().connect(name) as connection:
            return read_schema(connection, settings)

    def open_reordered(
        self, path: Path, limits: Limits | None, *, now: str | None, folder: Path | None
    ) -> PostgresDatabase | None:
        """Open a copy of a database that stores the rows of each table in the reverse order; None
        if it is too large. It stays in the cache. folder: is not needed here."""
        if path.stat().st_size > _MAX_REORDERED_BYTES:
            return None
        build = partial(build_from_text, path, now, kind="reversed")
        return PostgresDatabase(path, limits, build, now=now)

    def read_tables(
        self, path: Path, *, now: str | None, sample: RowSample = WHOLE_SAMPLE
    ) -> StoredTables:
        """Take a database apart: all of its rows."""
        return read_tables(path, now)

    def write_tables(
        self,
        path: Path,
        stored: StoredTables,
        rows: Mapping[str, Iterable[Sequence[Any]]],
        *,
        now: str | None,
    ) -> bytes:
        """Return the text of a database with the same tables and views, and other rows."""
        return write_tables(path, stored, rows, now=now)

    def open_refilled(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> RefilledPostgres:
        """Open a database with the tables and views, and without rows."""
        return RefilledPostgres(path, stored, limits, now=now)

    def open_tried(self, path: Path, stored: StoredTables, *, now: str | None) -> TypedRows:
        """Open the tables without rows, to try the rows of variants."""
        return open_typed(self, path, stored, now=now)


ENGINE = PostgresEngine()
