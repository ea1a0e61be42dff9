"""Shuffles: copies of a database that hold the same rows, stored and scanned in other orders.

`SELECT name FROM ship LIMIT 1` -> 'Sun' on the database, 'Tern' on a copy: not a fact of the data.

A table's rows lie in the order of its rowids, so giving each row another rowid shuffles the table,
and moves no value: BLOBs, text that is not UTF-8, generated columns and indexes stay as they are.
Where the rowid is a column of its own (INTEGER PRIMARY KEY) or does not exist (WITHOUT ROWID), the
stored order is a fact of the data; those are scanned backwards instead, by SQLite's own means for
finding such queries (PRAGMA reverse_unordered_selects).
"""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from stages.guard import GuardedDatabase, Limits
from stages.schema import quote_name

_ROWID_NAMES = ("rowid", "_rowid_", "oid")
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

    Copies are made when the first query needs them.

    skipped: why there are no shuffled copies, or ''.

    Raises:
        FileNotFoundError: where there is no such file.
        sqlite3.DatabaseError: where the file is no database, or a corrupt one.
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
        self._copies: list[Storage] | None = None
        self._reversed: GuardedDatabase | None = None
        with GuardedDatabase(path, limits):
            pass  # is it a database at all?
        self._moving_names: list[str] = []
        self._has_fixed_tables = False
        size = path.stat().st_size
        if size > max_bytes:
            self.skipped = f"{size} bytes, more than {max_bytes}"
            return
        try:
            self._moving_names, self._has_fixed_tables = _read_moving_names(path)
        except sqlite3.OperationalError as error:
            self.skipped = str(error)

    def storages_for(self, sql: str) -> Iterator[Storage]:
        """Names and databases on which a query may meet its rows in another order.

        A query that names no table whose rows move, and no view, would meet in the copies what it
        meets in the database itself: it gets none of them.
        """
        if not self.skipped and self._names_moving_table(sql):
            if self._copies is None:
                self._copies = self._make_copies()
            yield from self._copies
        if self.skipped or self._has_fixed_tables:
            if self._reversed is None:
                self._reversed = ReversedDatabase(self._path, self._limits)
            yield "reversed", self._reversed

    def _names_moving_table(self, sql: str) -> bool:
        """Whether the name of one stands anywhere in the text, if only as a part of a word."""
        text = _fold(sql)
        return any(name in text for name in self._moving_names)

    def _make_copies(self) -> list[Storage]:
        self._copies_folder = tempfile.TemporaryDirectory(prefix="shuffles-", dir=self._folder)
        copies: list[Storage] = []
        for seed in self._seeds:
            copy = Path(self._copies_folder.name) / f"{seed}.sqlite"
            try:
                unshuffled = copy_shuffled(self._path, copy, seed=seed)
            except sqlite3.OperationalError as error:
                self.skipped = str(error)
                break
            self._has_fixed_tables = bool(unshuffled)
            copies.append((f"seed {seed}", GuardedDatabase(copy, self._limits)))
        return copies

    def __enter__(self) -> Shuffles:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the copies and remove them."""
        for _, database in self._copies or ():
            database.close()
        if self._reversed is not None:
            self._reversed.close()
        if self._copies_folder is not None:
            self._copies_folder.cleanup()


def copy_shuffled(path: Path, target: Path, *, seed: int) -> tuple[str, ...]:
    """Copy a database and give every row a new rowid, where that is nothing but its place; the
    names of the tables that this leaves in order."""
    shutil.copyfile(path, target)
    target.chmod(0o600)
    connection = sqlite3.connect(target, isolation_level=None)
    try:
        for pragma in ("journal_mode = DELETE", "journal_mode = OFF", "synchronous = OFF"):
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA foreign_keys = OFF")
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {quote_name(trigger)}")
        left = []
        connection.execute("BEGIN")
        for table in _list_tables(connection):
            if table.rowid is None or not _shuffle_table(connection, table, seed):
                left.append(table.name)
        connection.execute("COMMIT")
    finally:
        connection.close()
    return tuple(left)


class _StoredTable(NamedTuple):
    """A table, and the name by which its rowid can be changed; None where that is no free place."""

    name: str
    rowid: str | None


def _list_tables(connection: sqlite3.Connection) -> list[_StoredTable]:
    rows = connection.execute(
        "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
        " AND type <> 'view' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
    ).fetchall()
    return [
        _StoredTable(
            name,
            None if kind != "table" or is_without_rowid else _find_free_rowid(connection, name),
        )
        for name, kind, is_without_rowid in rows
    ]


def _find_free_rowid(connection: sqlite3.Connection, table: str) -> str | None:
    columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table)})").fetchall()
    keys = [column for column in columns if column[5]]
    if len(keys) == 1 and keys[0][2].upper() == "INTEGER":
        return None
    taken = {column[1].lower() for column in columns}
    return next((name for name in _ROWID_NAMES if name not in taken), None)


def _shuffle_table(connection: sqlite3.Connection, table: _StoredTable, seed: int) -> bool:
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


def _read_moving_names(path: Path) -> tuple[list[str], bool]:
    """The folded names of the tables that copies would shuffle and of the views, which may read
    them; and whether there are other tables."""
    connection = sqlite3.connect(path.absolute().as_uri() + "?mode=ro&immutable=1", uri=True)
    try:
        tables = _list_tables(connection)
        views = connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
    finally:
        connection.close()
    moving = [table.name for table in tables if table.rowid is not None]
    return (
        [_fold(name) for name in (*moving, *(view for (view,) in views))],
        len(moving) < len(tables),
    )


def _fold(sql: str) -> str:
    """Text in which a name is found however it is quoted and spelt."""
    return sql.translate(_QUOTES).lower()
