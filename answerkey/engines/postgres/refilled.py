"""A database of PostgreSQL whose rows are exchanged, while its tables stay."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg

from answerkey.base.errors import InputError
from answerkey.engines.database import Limits
from answerkey.engines.engine import RefusedRowsError, StoredTables
from answerkey.engines.postgres.embedded import EmbeddedServer
from answerkey.engines.postgres.guard import PostgresDatabase, read_own_types
from answerkey.engines.postgres.loading import (
    PRIVATE,
    Definitions,
    build_empty,
    connect_loader,
    read_text,
    refresh_views,
    write_options,
)
from answerkey.engines.postgres.privileges import LOADER
from answerkey.engines.postgres.server import find_server
from answerkey.engines.postgres.settings import Settings
from answerkey.engines.postgres.tables import list_tables, write_rows

# What a session of an ordinary server reads of its catalogs and settings.
_READ_BY_SESSIONS = (
    f"GRANT SELECT ON ALL TABLES IN SCHEMA pg_catalog TO {LOADER}",
    f"GRANT EXECUTE ON FUNCTION pg_catalog.pg_show_all_settings() TO {LOADER}",
)
# Of errors: the database refuses a value, or a row.
_REFUSED = ("22", "23")


class RefilledPostgres(PostgresDatabase):
    """A guarded database of one process, whose rows are exchanged."""

    def __init__(
        self, path: Path, stored: StoredTables, limits: Limits, *, now: str | None
    ) -> None:
        settings = self._settings = read_text(path).settings
        definitions = Definitions(stored.statements, stored.views)
        self._empty = build_empty(path, definitions, settings, now)
        self._private = f"{PRIVATE}{find_server().number}_{uuid.uuid4().hex}"
        self._make(settings)
        self._loader = connect_loader(find_server(), self._private, settings)
        self._loader.execute("SET session_replication_role = replica")  # no foreign key, no trigger
        with find_server().connect(self._private) as connection:
            self._types = read_own_types(connection)
            self._tables = list_tables(connection, settings.search_path)
        super().__init__(path, limits, lambda: (self._private, settings), now=now)

    def _make(self, settings: Settings) -> None:
        with find_server().connect() as connection:
            sql = f"CREATE DATABASE {self._private} TEMPLATE {self._empty}"
            connection.execute(sql)
            sql = f"ALTER DATABASE {self._private} OWNER TO {LOADER}"
            connection.execute(sql)

    def fill_tables(self, rows: Mapping[str, Iterable[Sequence[Any]]], now: str | None) -> None:
        """Replace the rows of all tables; a table without an entry is empty.

        Raises:
            RefusedRowsError: the database refuses a row; then its rows are as they were.
        """
        try:
            with self._loader.transaction(), self._loader.cursor() as cursor:
                names = ", ".join(table.into for table in self._tables)
                if names:
                    cursor.execute(f"TRUNCATE {names}")
                for table in self._tables:
                    taken = [*write_rows(table, rows.get(table.name, ()), self._types)]
                    if not taken:
                        continue
                    copying = f"COPY {table.into} ({table.inserted}) FROM STDIN"
                    with cursor.copy(copying) as copy:
                        for row in taken:
                            copy.write_row(row)
                refresh_views(self._loader)
        except psycopg.Error as error:
            if (error.sqlstate or "")[:2] not in _REFUSED:
                raise
            words = error.diag.message_primary or str(error)
            raise RefusedRowsError(f"{self.path}: {words}") from error

    def write_url(self, options: Mapping[str, str]) -> str:
        """Return the address at which the role that fills the database reads it, its catalogs and
        settings too, as in a session of an ordinary server. `fill_tables` waits for the end of
        whoever is connected there.

        options: settings of the session, beside those of the database.

        Raises:
            InputError: the server is one by URL, whose address would hold a password.
        """
        server = find_server()
        if not isinstance(server, EmbeddedServer):
            raise InputError("no variants are read on a server by URL: unset ANSWERKEY_POSTGRES")
        with server.connect(self._private) as connection:
            for sql in _READ_BY_SESSIONS:
                connection.execute(sql)
        host = quote(str(server.sockets), safe="")
        words = quote(write_options(self._settings, dict(options)), safe="")
        return f"postgresql://{LOADER}@/{self._private}?host={host}&options={words}"

    def close(self) -> None:
        super().close()
        self._loader.close()
        with find_server().connect() as connection:
            sql = f"DROP DATABASE IF EXISTS {self._private} WITH (FORCE)"
            connection.execute(sql)
