"""The copy of a database that stores the same rows in the reverse order, and nothing else new."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
from contextlib import closing
from operator import itemgetter
from pathlib import Path

from answerkey.engines.database import Limits
from answerkey.engines.schema import ROWID_NAMES, fold_name, quote_name
from answerkey.engines.sqlite.collations import BINARY, list_collations
from answerkey.engines.sqlite.files import immutable_uri
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import affinity

_MAX_COPIED_BYTES = 200_000_000  # of a database: each worker needs room for a copy
# A rowid or a table of SQLite's own describes the file, and differs on any copy.
NAMES_STORAGE = re.compile(rf"(?<!\w)(?:sqlite_|(?:{'|'.join(ROWID_NAMES)})(?!\w))", re.IGNORECASE)


class _ReorderedDatabase(GuardedDatabase):
    """A guarded copy, whose folder is removed when it is closed."""

    folder: tempfile.TemporaryDirectory[str]

    def close(self) -> None:
        super().close()
        self.folder.cleanup()


def open_reordered(
    path: Path, limits: Limits | None, *, now: str | None, folder: Path | None
) -> GuardedDatabase | None:
    """Open the copy of a database; None if it has more than 200 MB, or if a view names the rowid or
    tables of SQLite's own.

    folder: where the copy is made; None for that of temporary files.

    Raises:
        sqlite3.DatabaseError: the file is no database, or a corrupt one.
    """
    if path.stat().st_size > _MAX_COPIED_BYTES:
        return None
    own_folder = tempfile.TemporaryDirectory(prefix="reordered-", dir=folder)
    try:
        target = Path(own_folder.name) / "copy.sqlite"
        views = _copy_tables(path, target)
        if any(map(NAMES_STORAGE.search, views)):
            own_folder.cleanup()
            return None
        _make_views(target, views)
        database = _ReorderedDatabase(target, limits, now=now)
    except BaseException:
        own_folder.cleanup()
        raise
    database.folder = own_folder
    return database


def _copy_tables(path: Path, target: Path) -> list[str]:
    """Write the tables of a database in reverse order; return the statements of its views."""
    with closing(
        sqlite3.connect(immutable_uri(path), uri=True, isolation_level=None)
    ) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.execute("ATTACH ? AS copy", (target.absolute().as_uri(),))
        connection.execute("PRAGMA copy.synchronous = OFF")
        connection.execute("PRAGMA copy.journal_mode = MEMORY")
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            " AND sql NOT LIKE 'CREATE VIRTUAL %' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY name"
        ).fetchall()
        for name, sql in tables:
            try:
                _copy_table(connection, name, list_collations(sql))
            except sqlite3.Error:
                # An invalid UTF-8 name, a missing function, a full disk: a query of this table
                # fails on the copy, which then tests nothing.
                connection.execute(f"DROP TABLE IF EXISTS copy.{quote_name(name)}")
        views = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view'").fetchall()
    return [sql for (sql,) in views]


def _copy_table(connection: sqlite3.Connection, name: str, collations: dict[str, str]) -> None:
    quoted = quote_name(name)
    columns = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
    definitions = (
        f"{quote_name(column)} {affinity(kind)} COLLATE {collations.get(fold_name(column), BINARY)}"
        for _, column, kind, *_ in columns
    )
    names = ", ".join(quote_name(column[1]) for column in columns)
    connection.execute(f"CREATE TABLE copy.{quoted} ({', '.join(definitions)})")
    connection.execute(
        f"INSERT INTO copy.{quoted} SELECT {names} FROM main.{quoted} NOT INDEXED"
        " ORDER BY row_number() OVER () DESC"
    )
    keys = [column[1] for column in sorted(columns, key=itemgetter(5)) if column[5]]
    firsts = set(keys[:1])
    for _, index, *_ in connection.execute(f"PRAGMA index_list({quoted})").fetchall():
        # fetchone gives None if the name of the index is not UTF-8.
        first = connection.execute(f"PRAGMA index_info({quote_name(index)})").fetchone()
        firsts |= {first and first[2]} - {None}  # None means an expression
    for number, column in enumerate(sorted(firsts)):
        index = quote_name(f"{name} key {number}")
        connection.execute(f"CREATE INDEX copy.{index} ON {quoted} ({quote_name(column)})")


def _make_views(target: Path, views: list[str]) -> None:
    """Create the views that can be created: not those whose text is invalid UTF-8."""
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        for sql in views:
            with contextlib.suppress(sqlite3.Error):
                connection.execute(sql)
