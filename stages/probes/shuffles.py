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
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from stages.guard import GuardedDatabase, Limits
from stages.schema import quote_name

_ROWID_NAMES = ("rowid", "_rowid_", "oid")


class ReversedDatabase(GuardedDatabase):
    """A guarded database whose tables are scanned from the end where no ORDER BY asks otherwise."""

    def _set_bounds(self) -> None:
        self._connection.execute("PRAGMA reverse_unordered_selects = ON")
        super()._set_bounds()


class Shuffles:
    """Shuffled copies of a database in a temporary folder, and the database scanned backwards if
    some of its tables cannot be shuffled; use it as a context manager.

    >>> with Shuffles(path, seeds=(1, 2)) as shuffles:             # doctest: +SKIP
    ...     [name for name, _ in shuffles.databases]
    ['seed 1', 'seed 2', 'reversed']

    skipped: why there are no shuffled copies, or ''.
    unshuffled_tables: those whose rows keep their order in the copies.

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
        self.databases: list[tuple[str, GuardedDatabase]] = []
        self.skipped = ""
        self.unshuffled_tables: tuple[str, ...] = ()
        self._folder = tempfile.TemporaryDirectory(prefix="shuffles-", dir=folder)
        try:
            with GuardedDatabase(path, limits):
                pass  # is it a database at all?
            self._add_copies(path, seeds, limits, max_bytes)
            if self.skipped or self.unshuffled_tables:
                self.databases.append(("reversed", ReversedDatabase(path, limits)))
        except BaseException:
            self.close()
            raise

    def _add_copies(
        self, path: Path, seeds: Sequence[int], limits: Limits | None, max_bytes: int
    ) -> None:
        size = path.stat().st_size
        if size > max_bytes:
            self.skipped = f"{size} bytes, more than {max_bytes}"
            return
        for seed in seeds:
            copy = Path(self._folder.name) / f"{seed}.sqlite"
            try:
                self.unshuffled_tables = copy_shuffled(path, copy, seed=seed)
            except sqlite3.OperationalError as error:
                self.skipped = str(error)
                return
            self.databases.append((f"seed {seed}", GuardedDatabase(copy, limits)))

    def __enter__(self) -> Shuffles:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the copies and remove them."""
        for _, database in self.databases:
            database.close()
        self._folder.cleanup()


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
        tables = connection.execute(
            "SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'"
            " AND type <> 'view' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        ).fetchall()
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {quote_name(trigger)}")
        left = []
        connection.execute("BEGIN")
        for name, kind, is_without_rowid in tables:
            if kind != "table" or is_without_rowid or not _shuffle_table(connection, name, seed):
                left.append(name)
        connection.execute("COMMIT")
    finally:
        connection.close()
    return tuple(left)


def _shuffle_table(connection: sqlite3.Connection, table: str, seed: int) -> bool:
    """Give the rows of a table new rowids, or say that it cannot be done."""
    columns = connection.execute(f"PRAGMA table_xinfo({quote_name(table)})").fetchall()
    taken = {column[1].lower() for column in columns}
    free = next((name for name in _ROWID_NAMES if name not in taken), None)
    keys = [column for column in columns if column[5]]
    if free is None or (len(keys) == 1 and keys[0][2].upper() == "INTEGER"):
        return False
    salt = f"{seed} {table}".encode()

    def move(rowid: int) -> int:
        digest = hashlib.blake2b(
            rowid.to_bytes(8, "big", signed=True), digest_size=8, key=salt[:64]
        )
        return 2**62 + int.from_bytes(digest.digest(), "big") // 4  # beyond any rowid in use

    connection.create_function("move_row", 1, move, deterministic=True)
    connection.execute("SAVEPOINT shuffle")
    try:
        connection.execute(f"UPDATE {quote_name(table)} SET {free} = move_row({free})")
    except sqlite3.Error:  # an index on a function or collation that is not there, say
        connection.execute("ROLLBACK TO shuffle")
        return False
    finally:
        connection.execute("RELEASE shuffle")
    return True
