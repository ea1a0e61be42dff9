"""Movable tables: those whose rows can be stored in another order, and how that is done.

A table of a copy has the same columns, affinities and collations, and no primary key. For each
index of the table it has an index on the first column, by which rows are found.

Three copies tell two rows apart whose order is open:

- One copy has the rows in reverse, one as they are. SQLite reads both in the same way. So the two
  rows come in one order from one copy and in the other order from the other, and one of the copies
  differs from the database, however that is read.
- Where SQLite reads an index in place of the table, the rows of both copies come in the order of
  its column. Hence a third copy, whose indexes run the other way. Its rows are mixed, since in
  reverse the second of three rows stays the second.

Further copies have their rows in other mixed orders.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from answerkey.sql.equal_values import BINARY, list_collations
from answerkey.sqlite.files import immutable_uri
from answerkey.sqlite.guard import GuardedDatabase, Limits
from answerkey.sqlite.schema import ROWID_NAMES, affinity, fold_name, quote_name

_ASKS_FOR_ROWID = re.compile(rf"(?<!\w)(?:{'|'.join(ROWID_NAMES)})(?!\w)", re.IGNORECASE)
_ASKS_FOR_SCHEMA = re.compile(r"(?<!\w)sqlite_")  # sqlite_master, sqlite_sequence
_QUOTES = str.maketrans("", "", "\"`'[]")


class Movable(NamedTuple):
    """A table whose rows can move, and what its copies have.

    rowid: a name of its rowid, which says in which order rows are, or None where the rowid is a
        column or there is none, so that the primary key does.
    place: what to order rows by.
    definitions: the columns of a copy, as CREATE TABLE has them.
    columns: their names.
    indexed: the first column of each index, and of the primary key.
    """

    name: str
    rowid: str | None
    place: str
    definitions: str
    columns: str
    indexed: tuple[str, ...]


class Tables(NamedTuple):
    """The tables of a database whose rows can move, the SQL of its views (which may read them) by
    name, and whether it has other tables (virtual ones)."""

    movable: tuple[Movable, ...]
    views: dict[str, str]
    has_fixed: bool

    def find_named(self, sql: str) -> list[Movable]:
        """The tables that a query may read: those whose name stands anywhere in its text, or in
        that of a view whose name does, if only as a part of a word."""
        texts = self._list_texts(sql)
        return [table for table in self.movable if any(_fold(table.name) in text for text in texts)]

    def asks_for_rowid(self, sql: str) -> bool:
        """Whether a query, or a view that it may read, names the rowid."""
        return any(map(_ASKS_FOR_ROWID.search, self._list_texts(sql)))

    def asks_for_schema(self, sql: str) -> bool:
        """Whether a query, or a view that it may read, names a table of SQLite's own."""
        return any(map(_ASKS_FOR_SCHEMA.search, self._list_texts(sql)))

    def _list_texts(self, sql: str) -> list[str]:
        """The text of a query, and of the views that it names, directly or over others."""
        texts, views = [_fold(sql)], dict(self.views)
        for text in texts:
            for view in [view for view in views if _fold(view) in text]:
                texts.append(_fold(views.pop(view)))
        return texts


class Layout(NamedTuple):
    """How a copy stores rows: by which order, and which way its indexes run."""

    order: str
    direction: str


_MIX = "move_row({place})"
LAYOUTS = (Layout("{place} DESC", "ASC"), Layout(_MIX, "DESC"), Layout("{place}", "ASC"))


def layout_of(seed: int) -> Layout:
    """What a seed stands for: 0 rows in reverse, 2 as they are, any other a mix of its own; 1 has
    indexes that run the other way."""
    return LAYOUTS[seed] if seed < len(LAYOUTS) else Layout(_MIX, "ASC")


UNREADABLE = Tables((), {}, has_fixed=True)


def read_tables(path: Path) -> Tables:
    """What can be moved in a database, without opening it to write."""
    with closing(sqlite3.connect(immutable_uri(path), uri=True)) as connection:
        rows = connection.execute(
            "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        ).fetchall()
        connection.text_factory = lambda text: text.decode(errors="replace")
        statements = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')"
        ).fetchall()
        connection.text_factory = str
        texts = {name: sql for kind, name, sql in statements if kind == "table"}
        found = (
            _read_table(connection, name, texts[name], not is_without_rowid, bool(is_strict))
            for name, kind, is_without_rowid, is_strict in rows
            if kind == "table"
        )
        movable = tuple(table for table in found if table is not None)
    views = {name: sql for kind, name, sql in statements if kind == "view"}
    return Tables(movable, views, len(movable) + len(views) < len(rows))


def _read_table(
    connection: sqlite3.Connection, name: str, sql: str, has_rowid: bool, is_strict: bool
) -> Movable | None:
    """A table as copies have it; None where its columns cannot be read."""
    quoted = quote_name(name)
    try:
        columns = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
    except sqlite3.OperationalError:  # a name that is no UTF-8
        return None
    collations = list_collations(sql)
    definitions = (
        f"{quote_name(column)} {'BLOB' if is_strict and kind == 'ANY' else affinity(kind)}"
        f" COLLATE {collations.get(fold_name(column), BINARY)}"
        for _, column, kind, *_ in columns
    )
    keys = [column for column in sorted(columns, key=itemgetter(5)) if column[5]]
    key_names = [quote_name(column[1]) for column in keys]
    order = f"ORDER BY {', '.join(key_names)}" if keys else ""
    rowid = _find_free_rowid(columns, keys) if has_rowid else None
    return Movable(
        name,
        rowid,
        place=rowid or f"row_number() OVER ({order})",
        definitions=", ".join(definitions),
        columns=", ".join(quote_name(column[1]) for column in columns),
        indexed=_list_first_columns(connection, quoted, key_names),
    )


def move_rows(connection: sqlite3.Connection, table: Movable, seed: int, *, max_bytes: int) -> bool:
    """Make a table of the database in `copy`, which is attached to it, with its rows in the order
    of a seed, or say that it cannot be done, or has more than `max_bytes`.

    Raises:
        OSError: where it is the disk that does not hold it.
    """
    mix = _make_mix(f"{seed} {table.name}".encode())
    connection.create_function("move_row", 1, mix, deterministic=True)
    (pages,), (page_bytes,) = (
        connection.execute(f"PRAGMA copy.{name}").fetchone() for name in ("page_count", "page_size")
    )
    most_pages = max(1, pages + max_bytes // page_bytes)  # SQLite takes 0 for no limit
    connection.execute(f"PRAGMA copy.max_page_count = {most_pages}")
    connection.execute("BEGIN")
    try:
        _make_table(connection, table, layout_of(seed))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        _check_disk(connection, error, max_bytes)
        return False  # too large, or a column that a function generates which is not there
    return True


def _check_disk(connection: sqlite3.Connection, error: sqlite3.Error, max_bytes: int) -> None:
    """Raise OSError where the disk is full or broken, which says nothing of the table: SQLite has
    one code for its bound on pages and for a full disk."""
    code = error.sqlite_errorcode & 0xFF
    if code not in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return
    (path,) = connection.execute(
        "SELECT file FROM pragma_database_list WHERE name = 'copy'"
    ).fetchone()
    free = shutil.disk_usage(Path(path).parent).free
    if code == sqlite3.SQLITE_IOERR or free < max_bytes:
        raise OSError(
            f"Cannot write a copy of a table, {path}: {error}. Expected {max_bytes} bytes to spare"
            f" (`audit_gold_answers.max_copied_bytes`), found {free}; TMPDIR names another folder"
        )


def _find_free_rowid(columns: list[tuple[Any, ...]], keys: list[tuple[Any, ...]]) -> str | None:
    """A name of the rowid that no column has; None where the rowid is a column of its own."""
    if len(keys) == 1 and keys[0][2].upper() == "INTEGER":
        return None
    taken = {fold_name(column[1]) for column in columns}
    return next((name for name in ROWID_NAMES if name not in taken), None)


def _make_mix(salt: bytes) -> Callable[[int], int]:
    """A function that gives places a random order."""

    def move(place: int) -> int:
        number = place.to_bytes(8, "big", signed=True)
        digest = hashlib.blake2b(number, digest_size=7, key=salt[:64]).digest()
        return int.from_bytes(digest, "big")

    return move


def _make_table(connection: sqlite3.Connection, table: Movable, layout: Layout) -> None:
    quoted = quote_name(table.name)
    order = layout.order.format(place=table.place)
    connection.execute(f"CREATE TABLE copy.{quoted} ({table.definitions})")
    connection.execute(
        f"INSERT INTO copy.{quoted} ({table.columns})"
        f" SELECT {table.columns} FROM main.{quoted} ORDER BY {order}"
    )
    for number, column in enumerate(table.indexed):
        index = quote_name(f"{table.name} key {number}")
        connection.execute(f"CREATE INDEX copy.{index} ON {quoted} ({column} {layout.direction})")


def _list_first_columns(
    connection: sqlite3.Connection, table: str, keys: list[str]
) -> tuple[str, ...]:
    """The first columns of a table's primary key and of its indexes, quoted."""
    firsts = set(keys[:1])
    for _, index, *_ in connection.execute(f"PRAGMA index_list({table})").fetchall():
        columns = connection.execute(f"PRAGMA index_info({quote_name(index)})")
        _, _, column = columns.fetchone()
        firsts.update([quote_name(column)] if column is not None else [])
    return tuple(sorted(firsts))


def _fold(sql: str) -> str:
    """Text in which a name is found however it is quoted and spelt."""
    return sql.translate(_QUOTES).lower()


# Reordered copies of a database: they hold the same rows, stored in other orders.
#
# `SELECT name FROM ship LIMIT 1` -> 'Sun' on the database, 'Tern' on a copy: not a fact of the
# data.
#
# answerkey.order.reordered_copies says in which orders. Tables whose rows cannot move are scanned
# backwards instead, by SQLite's own means for finding such queries (PRAGMA
# reverse_unordered_selects), which leaves out what GROUP BY, windows and ORDER BY read.


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

    seeds: one a copy; `layout_of` in this module says what each stands for. Only
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
