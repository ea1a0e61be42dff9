"""A database file: where it lies, whether it is whole, and how it is put in its place."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from answerkey.errors import InputError
from answerkey.records import replace_file
from answerkey.sqlite.files import check_db_id, find_inside, open_database
from answerkey.sqlite.schema import quote_name

HEADER = b"SQLite format 3\x00"
# Rows of quick_check about values, which SQLite reads all the same; any other is a broken file.
VALUE_NOTES = ("NULL value in ",)
# Rows of these beside a database would be lost with a copy of the database alone.
PENDING_SUFFIXES = ("-wal", "-journal")
_CHUNK_BYTES = 1 << 20


def locate_database(databases_dir: Path, db_id: str) -> Path:
    """`databases_dir/ID/ID.sqlite`, the layout of a Spider release."""
    return find_inside(databases_dir, f"{check_db_id(db_id)}/{db_id}.sqlite")


def check_database(path: Path) -> None:
    """Nothing, where the file is a whole SQLite database.

    Raises:
        InputError: "Corrupt database: ...", with the file and what was expected.
    """
    with path.open("rb") as file:
        start = file.read(len(HEADER))
    if start != HEADER:
        raise InputError(f"Corrupt database: {path} starts with {start!r}, expected {HEADER!r}")
    try:
        with contextlib.closing(open_database(path)) as connection:
            notes = _check_content(connection)
    except sqlite3.Error as error:
        raise InputError(f"Corrupt database: {path}: SQLite cannot read it: {error}") from error
    broken = [note for note in notes if note != "ok" and not note.startswith(VALUE_NOTES)]
    if broken:
        raise InputError(f"Corrupt database: {path}: quick_check says {broken[0]!r}, expected 'ok'")


def _check_content(connection: sqlite3.Connection) -> list[str]:
    """What quick_check notes of the database; or of each table, where one cannot be checked.

    A CHECK is foreign SQL, which may take for ever, and says nothing of whether a file is whole.
    """
    connection.execute("PRAGMA ignore_check_constraints = ON")
    notes = _quick_check(connection, "1000")
    if notes is not None:
        return notes
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    checks = (_quick_check(connection, quote_name(table)) for (table,) in tables)
    return [note for notes in checks for note in notes or ()]


def _quick_check(connection: sqlite3.Connection, argument: str) -> list[str] | None:
    """The notes of one check; None where an index has a collation of another program's."""
    try:
        return [note for (note,) in connection.execute(f"PRAGMA quick_check({argument})")]
    except sqlite3.Error as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR_MISSING_COLLSEQ:
            raise
        return None


@contextlib.contextmanager
def replace_database(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends and the file passes the checks."""
    with replace_file(path) as file:
        yield file
        file.flush()
        try:
            check_database(Path(file.name))
        except ValueError as error:
            raise InputError(str(error).replace(str(file.name), str(path))) from error


def copy_database(source: Path, path: Path, *, sha256: str | None = None) -> None:
    """Copy a ready SQLite file, which is checked once and read once more to be copied: it may have
    gigabytes.

    Raises:
        InputError: where it is corrupt, or has rows in a journal that the copy would lose, or is no
            longer what it was when it was found to have that sha256.
    """
    for suffix in PENDING_SUFFIXES:
        pending = source.with_name(source.name + suffix)
        if pending.is_file() and pending.stat().st_size:
            raise InputError(
                f"{source} has unfinished changes in {pending.name}: expected a database that is"
                " closed; open and close it once with sqlite3, or remove that file"
            )
    check_database(source)
    digest = hashlib.sha256()
    with source.open("rb") as content, replace_file(path) as file:
        while chunk := content.read(_CHUNK_BYTES):
            digest.update(chunk)
            file.write(chunk)
        if sha256 not in (None, digest.hexdigest()):
            raise InputError(
                f"{source} changed while it was copied: sha256 is {digest.hexdigest()},"
                f" expected {sha256}"
            )
