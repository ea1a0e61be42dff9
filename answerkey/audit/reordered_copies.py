"""Reordered copies of a database: they hold the same rows, stored in other orders.

`SELECT name FROM ship LIMIT 1` -> 'Sun' on the database, 'Tern' on a copy: not a fact of the data.

answerkey.audit.movable_tables says in which orders. Tables whose rows cannot move are scanned
backwards instead, by SQLite's own means for finding such queries (PRAGMA
reverse_unordered_selects), which leaves out what GROUP BY, windows and ORDER BY read.
"""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from answerkey.audit.movable_tables import (
    LAYOUTS,
    UNREADABLE,
    Movable,
    Tables,
    move_rows,
    read_tables,
)
from answerkey.sqlite.guard import GuardedDatabase, Limits
from answerkey.sqlite.schema import quote_name
from answerkey.sqlite.uri import immutable_uri

_MAX_BYTES = 200_000_000

Storage = tuple[str, GuardedDatabase]


class ReversedDatabase(GuardedDatabase):
    """A guarded database whose tables are scanned from the end where no ORDER BY asks otherwise."""

    def _set_bounds(self) -> None:
        self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        super()._set_bounds()


class ReorderedCopies:
    """Reordered copies of a database in a temporary folder, and the database scanned backwards
    where a table cannot be reordered; use it as a context manager.

    >>> with ReorderedCopies(path, seeds=range(8)) as copies:        # doctest: +SKIP
    ...     [name for name, _ in copies.storages_for("SELECT name FROM ship LIMIT 1")]
    ['seed 0', 'seed 1', 'seed 2']

    seeds: one a copy; `layout_of` in answerkey.audit.movable_tables says what each stands for. Only
        the first of each kind where all copies together would have more than `max_bytes`.
    max_bytes: a table that is larger, with the indexes of its copy, is not copied.

    Nothing is read before a query first asks for its storages. Copies are made, and their tables
    reordered, when a query first needs them.

    Raises:
        FileNotFoundError: where there is no such file.
    """

    def __init__(
        self,
        path: Path,
        *,
        seeds: Sequence[int] = range(8),
        limits: Limits | None = None,
        max_bytes: int = _MAX_BYTES,
        folder: Path | None = None,
    ) -> None:
        self._path = path
        self._limits = limits
        self._max_bytes = max_bytes
        self._folder = folder
        self._copies_folder: tempfile.TemporaryDirectory[str] | None = None
        self._copies: dict[int, ReorderedCopy] = {}
        self._reversed: GuardedDatabase | None = None
        self._tables: Tables | None = None
        are_few = path.stat().st_size * len(seeds) > max_bytes
        self._seeds = seeds[: len(LAYOUTS)] if are_few else seeds

    def storages_for(self, sql: str, *, is_thorough: bool = False) -> Iterator[Storage]:
        """Names and databases on which a query may meet its rows in another order: all copies where
        `is_thorough`, else the first of each kind, which tell two rows apart whatever SQLite does.

        A query that names no table whose rows move, and no view, would meet in the copies what it
        meets in the database itself: it gets none of them.

        Raises:
            sqlite3.DatabaseError: where the file is no database, or a corrupt one.
        """
        if self._tables is None:
            try:
                self._tables = read_tables(self._path)
            except sqlite3.OperationalError:
                self._tables = UNREADABLE
        has_fixed_tables = self._tables.has_fixed
        named = self._tables.find_named(sql)
        has_other_rowids = any(table.rowid is None for table in named)
        if self._tables.asks_for_schema(sql) or (
            has_other_rowids and self._tables.asks_for_rowid(sql)
        ):
            named, has_fixed_tables = [], True  # a copy is no measure
        if named:
            for seed in self._seeds if is_thorough else self._seeds[: len(LAYOUTS)]:
                copy = self._find_copy(seed)
                unmoved = copy.reorder(named)
                named = [table for table in named if table.name not in unmoved]
                has_fixed_tables |= bool(unmoved)
                if named:
                    yield f"seed {seed}", copy.database
        if has_fixed_tables:
            if self._reversed is None:
                self._reversed = ReversedDatabase(self._path, self._limits)
            yield "reversed", self._reversed

    def _find_copy(self, seed: int) -> ReorderedCopy:
        """The copy of a seed, made where it is new."""
        if self._copies_folder is None:
            self._copies_folder = tempfile.TemporaryDirectory(prefix="reordered-", dir=self._folder)
        if seed not in self._copies:
            target = Path(self._copies_folder.name) / f"{seed}.sqlite"
            self._copies[seed] = ReorderedCopy(
                self._path, target, seed, self._limits, max_bytes=self._max_bytes
            )
        return self._copies[seed]

    def __enter__(self) -> ReorderedCopies:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the copies and remove them."""
        for copy in self._copies.values():
            copy.close()
        if self._reversed is not None:
            self._reversed.close()
        if self._copies_folder is not None:
            self._copies_folder.cleanup()


class ReorderedCopy:
    """A database with the tables of another that were reordered, and its views."""

    def __init__(
        self,
        path: Path,
        target: Path,
        seed: int,
        limits: Limits | None = None,
        *,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        self._source = immutable_uri(path)
        self._target = target
        self._seed = seed
        self._limits = limits
        self._max_bytes = max_bytes
        self._database: GuardedDatabase | None = None
        self._is_moved: dict[str, bool] = {}  # by table, once it was tried

    @property
    def database(self) -> GuardedDatabase:
        """The copy as it is now."""
        if self._database is None:
            self._database = GuardedDatabase(self._target, self._limits)
        return self._database

    def reorder(self, tables: Iterable[Movable]) -> list[str]:
        """The names of those tables that cannot be reordered. The rows of all others are stored in
        the copy's order, each table once."""
        tables = list(tables)
        new = [table for table in tables if table.name not in self._is_moved]
        if new:
            self.close()
            with self._change() as connection:
                for table in new:
                    self._is_moved[table.name] = move_rows(
                        connection, table, self._seed, max_bytes=self._max_bytes
                    )
        return [table.name for table in tables if not self._is_moved[table.name]]

    def close(self) -> None:
        """Close the copy; the file stays."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """A connection to the database, with the copy attached as `copy`.

        The copy has no views meanwhile: what names the schema main is an error in any other.
        """
        with closing(sqlite3.connect(self._source, uri=True, isolation_level=None)) as connection:
            views = _read_views(connection)
            if views and self._is_made:
                self._drop_views()
            connection.execute("ATTACH ? AS copy", (self._target.absolute().as_uri(),))
            _write_fast(connection, "copy")
            yield connection
        if views and self._is_made:
            self._make_views(views)

    @property
    def _is_made(self) -> bool:
        return any(self._is_moved.values())

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._target, isolation_level=None)) as connection:
            _write_fast(connection, "main")
            yield connection

    def _drop_views(self) -> None:
        with self._open() as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
            for (name,) in names.fetchall():
                connection.execute(f"DROP VIEW {quote_name(name)}")

    def _make_views(self, views: Iterable[bytes]) -> None:
        """Make the views; one whose text is no UTF-8 is left out."""
        with self._open() as connection:
            for sql in views:
                with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                    connection.execute(sql.decode())


def _write_fast(connection: sqlite3.Connection, name: str) -> None:
    """Write without waiting for the disk: after a crash nobody needs the copy."""
    connection.execute(f"PRAGMA {name}.synchronous = OFF")
    connection.execute(f"PRAGMA {name}.journal_mode = MEMORY").fetchall()


def _read_views(connection: sqlite3.Connection) -> list[bytes]:
    """The statements that made the views; they need be no UTF-8."""
    connection.text_factory = bytes
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view'").fetchall()
    connection.text_factory = str
    return [sql for (sql,) in rows]
