"""Shuffles: copies of a database that hold the same rows, stored and scanned in other orders.

`SELECT name FROM ship LIMIT 1` -> 'Sun' on the database, 'Tern' on a copy: not a fact of the data.

A table's rows lie in the order of its rowids, so giving each row another rowid shuffles the table,
and moves no value: BLOBs, text that is not UTF-8, generated columns and indexes stay as they are.
Where the rowid is a column of its own (INTEGER PRIMARY KEY) or does not exist (WITHOUT ROWID), the
stored order is a fact of the data; those are scanned backwards instead, by SQLite's own means for
finding such queries (PRAGMA reverse_unordered_selects).
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from stages.guard import GuardedDatabase, Limits
from stages.schema import quote_name

_ROWID_NAMES = ("rowid", "_rowid_", "oid")
_SMALL_BYTES = 131_072
_QUOTES = str.maketrans("", "", "\"`'[]")

Storage = tuple[str, GuardedDatabase]


class ReversedDatabase(GuardedDatabase):
    """A guarded database whose tables are scanned from the end where no ORDER BY asks otherwise."""

    def _set_bounds(self) -> None:
        self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        super()._set_bounds()


class Shuffles:
    """Shuffled copies of a database in a temporary folder, and the database scanned backwards if
    some of its tables cannot be shuffled; use it as a context manager.

    >>> with Shuffles(path, seeds=(1, 2)) as shuffles:             # doctest: +SKIP
    ...     [name for name, _ in shuffles.storages_for("SELECT name FROM ship LIMIT 1")]
    ['seed 1', 'seed 2', 'reversed']

    Nothing is read before a query first asks for its storages. Copies are made, and their tables
    shuffled, when a query first needs them.

    skipped: why there are no shuffled copies, or ''.

    Raises:
        FileNotFoundError: where there is no such file.
    """

    def __init__(
        self,
        path: Path,
        *,
        seeds: Sequence[int] = (1, 2),
        limits: Limits | None = None,
        max_bytes: int = 200_000_000,
        folder: Path | None = None,
    ) -> None:
        self.skipped = ""
        self._path = path
        self._limits = limits
        self._seeds = seeds
        self._folder = folder
        self._copies_folder: tempfile.TemporaryDirectory[str] | None = None
        self._copies: list[ShuffledCopy] | None = None
        self._reversed: GuardedDatabase | None = None
        self._tables: Tables | None = None
        self._size_bytes = path.stat().st_size
        if self._size_bytes > max_bytes:
            self._tables = _NO_TABLES
            self.skipped = f"{self._size_bytes} bytes, more than {max_bytes}"

    def storages_for(self, sql: str) -> Iterator[Storage]:
        """Names and databases on which a query may meet its rows in another order.

        A query that names no table whose rows move, and no view, would meet in the copies what it
        meets in the database itself: it gets none of them.

        Raises:
            sqlite3.DatabaseError: where the file is no database, or a corrupt one.
        """
        if self._tables is None:
            try:
                self._tables = read_tables(self._path)
            except sqlite3.OperationalError as error:
                self._tables = _NO_TABLES
                self.skipped = str(error)
        has_fixed_tables = self._tables.has_fixed
        named = self._tables.find_named(sql)
        if named and not self.skipped:
            # Where all tables are soon shuffled, no copy need be opened again for the next query.
            is_small = self._size_bytes <= _SMALL_BYTES
            tables = self._tables.movable if is_small else named
            for copy in self._make_copies(tables):
                unmoved = copy.shuffle(tables)
                has_fixed_tables |= any(table.name in unmoved for table in named)
                yield f"seed {copy.seed}", copy.database
        if self.skipped or has_fixed_tables:
            if self._reversed is None:
                self._reversed = ReversedDatabase(self._path, self._limits)
            yield "reversed", self._reversed

    def _make_copies(self, tables: Sequence[Movable]) -> list[ShuffledCopy]:
        """The copies; where they are new, with those tables shuffled."""
        if self._copies is None:
            self._copies = []
            self._copies_folder = tempfile.TemporaryDirectory(prefix="shuffles-", dir=self._folder)
            folder = Path(self._copies_folder.name)
            try:
                for seed in self._seeds:
                    target = folder / f"{seed}.sqlite"
                    copy = ShuffledCopy(self._path, target, seed, self._limits)
                    copy.shuffle(tables)
                    self._copies.append(copy)
            except sqlite3.OperationalError as error:
                self.skipped = str(error)
        return self._copies

    def __enter__(self) -> Shuffles:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the copies and remove them."""
        for copy in self._copies or ():
            copy.close()
        if self._reversed is not None:
            self._reversed.close()
        if self._copies_folder is not None:
            self._copies_folder.cleanup()


class ShuffledCopy:
    """A copy of a database; tables that are shuffled have a new rowid in every row."""

    def __init__(self, path: Path, target: Path, seed: int, limits: Limits | None = None) -> None:
        self.seed = seed
        self._target = target
        self._limits = limits
        self._database: GuardedDatabase | None = None
        self._is_moved: dict[str, bool] = {}  # by table, once it was tried
        shutil.copyfile(path, target)
        target.chmod(0o600)

    @property
    def database(self) -> GuardedDatabase:
        """The copy as it is now."""
        if self._database is None:
            self._database = GuardedDatabase(self._target, self._limits)
        return self._database

    def shuffle(self, tables: Iterable[Movable]) -> list[str]:
        """Shuffle those tables that are not yet; the names of those that cannot be."""
        tables = list(tables)
        new = [table for table in tables if table.name not in self._is_moved]
        if new:
            self.close()
            with self._change() as connection:
                if not self._is_moved:
                    _drop_triggers(connection)
                for table in new:
                    self._is_moved[table.name] = _shuffle_table(connection, table, self.seed)
        return [table.name for table in tables if not self._is_moved[table.name]]

    def close(self) -> None:
        """Close the copy; the file stays."""
        if self._database is not None:
            self._database.close()
            self._database = None

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes, past whatever the database itself would forbid."""
        with closing(sqlite3.connect(self._target, isolation_level=None)) as connection:
            for pragma in ("journal_mode = DELETE", "journal_mode = OFF", "synchronous = OFF"):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")


class Movable(NamedTuple):
    """A table whose rowid is nothing but a row's place, and the name by which it can be changed."""

    name: str
    rowid: str


class Tables(NamedTuple):
    """The tables of a database that copies shuffle, the names of its views (which may read them),
    and whether it has other tables."""

    movable: tuple[Movable, ...]
    views: tuple[str, ...]
    has_fixed: bool

    def find_named(self, sql: str) -> list[Movable]:
        """The tables that a query may read: those whose name stands anywhere in its text, if only
        as a part of a word; all of them, where that of a view does."""
        text = _fold(sql)
        if any(_fold(view) in text for view in self.views):
            return list(self.movable)
        return [table for table in self.movable if _fold(table.name) in text]


_NO_TABLES = Tables((), (), False)


def read_tables(path: Path) -> Tables:
    """What can be shuffled in a database, without opening it to write."""
    uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
    with closing(sqlite3.connect(uri, uri=True)) as connection:
        rows = connection.execute(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
            " AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        ).fetchall()
        views = tuple(name for name, kind, _ in rows if kind == "view")
        movable = [
            Movable(name, rowid)
            for name, kind, is_without_rowid in rows
            if kind == "table"
            and not is_without_rowid
            and (rowid := _find_free_rowid(connection, name))
        ]
    return Tables(tuple(movable), views, len(movable) + len(views) < len(rows))


def _find_free_rowid(connection: sqlite3.Connection, table: str) -> str | None:
    """A name of the rowid that no column has; None where the rowid is a column of its own."""
    columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table)})").fetchall()
    keys = [column for column in columns if column[5]]
    if len(keys) == 1 and keys[0][2].upper() == "INTEGER":
        return None
    taken = {column[1].lower() for column in columns}
    return next((name for name in _ROWID_NAMES if name not in taken), None)


def _drop_triggers(connection: sqlite3.Connection) -> None:
    for (trigger,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'trigger'"
    ).fetchall():
        connection.execute(f"DROP TRIGGER {quote_name(trigger)}")


def _shuffle_table(connection: sqlite3.Connection, table: Movable, seed: int) -> bool:
    """Give the rows of a table new rowids, or say that it cannot be done."""
    salt = f"{seed} {table.name}".encode()

    def move(rowid: int) -> int:
        digest = hashlib.blake2b(
            rowid.to_bytes(8, "big", signed=True), digest_size=8, key=salt[:64]
        )
        return 2**62 + int.from_bytes(digest.digest(), "big") // 4  # beyond any rowid in use

    connection.create_function("move_row", 1, move, deterministic=True)
    connection.execute("SAVEPOINT shuffle")
    try:
        connection.execute(
            f"UPDATE {quote_name(table.name)} SET {table.rowid} = move_row({table.rowid})"
        )
    except sqlite3.Error:  # an index on a function or collation that is not there, say
        connection.execute("ROLLBACK TO shuffle")
        return False
    finally:
        connection.execute("RELEASE shuffle")
    return True


def _fold(sql: str) -> str:
    """Text in which a name is found however it is quoted and spelt."""
    return sql.translate(_QUOTES).lower()
