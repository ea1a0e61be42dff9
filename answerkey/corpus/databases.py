"""A database file: where it lies, whether it is whole, how it is put in its place; and what its
corpus says of columns, in the folder `database_description` of BIRD beside it."""

from __future__ import annotations

import contextlib
import csv
import io
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from answerkey.base.errors import InputError
from answerkey.base.records import replace_file
from answerkey.sqlite.files import check_db_id, find_inside, open_database

_HEADER = b"SQLite format 3\x00"
# What quick_check says of values that SQLite reads all the same; any other row is a broken file.
_FINE = ("ok", "NULL value in ")

DESCRIPTION_FOLDER = "database_description"
_COLUMN = "original_column_name"
_TEXTS = {
    "name": "column_name",
    "description": "column_description",
    "values": "value_description",
}


def locate_database(databases_dir: Path, db_id: str) -> Path:
    """`databases_dir/ID/ID.sqlite`, the layout of a Spider release."""
    return find_inside(databases_dir, f"{check_db_id(db_id)}/{db_id}.sqlite")


def check_database(path: Path) -> None:
    """Make sure that the file is a whole SQLite database.

    Raises:
        InputError: "Corrupt database: ...", with the file and what was expected.
    """
    with path.open("rb") as file:
        start = file.read(len(_HEADER))
    if start != _HEADER:
        raise InputError(f"Corrupt database: {path} starts with {start!r}, expected {_HEADER!r}")
    try:
        with contextlib.closing(open_database(path)) as connection:
            # A CHECK is foreign SQL, which may take for ever.
            connection.execute("PRAGMA ignore_check_constraints = ON")
            notes = [note for (note,) in connection.execute("PRAGMA quick_check(1000)")]
    except sqlite3.Error as error:
        raise InputError(f"Corrupt database: {path}: SQLite cannot read it: {error}") from error
    if broken := [note for note in notes if not note.startswith(_FINE)]:
        raise InputError(f"Corrupt database: {path}: quick_check says {broken[0]!r}, expected 'ok'")


@contextlib.contextmanager
def replace_database(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when the block ends and the file passes the checks."""
    with replace_file(path) as file:
        yield file
        file.flush()
        check_database(Path(file.name))


def copy_database(source: Path, path: Path) -> None:
    """Copy a ready SQLite file.

    Raises:
        InputError: if it is corrupt, or has rows in a journal that the copy would lose.
    """
    for suffix in ("-wal", "-journal"):
        pending = source.with_name(source.name + suffix)
        if pending.is_file() and pending.stat().st_size:
            raise InputError(
                f"{source} has unfinished changes in {pending.name}: expected a database that is"
                " closed; open and close it once with sqlite3"
            )
    check_database(source)
    with source.open("rb") as content, replace_file(path) as file:
        shutil.copyfileobj(content, file)


def read_descriptions(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The texts of a folder by table, which is the name of a file, and column:

        {"ship": {"tons": {"description": "gross tonnage", "values": "0: not known"}}}

    Raises:
        InputError: if a file is no CSV, or has no column of names.
    """
    return {file.stem.strip(): _read_table(file) for file in sorted(folder.glob("*.csv"))}


def _read_table(file: Path) -> dict[str, dict[str, str]]:
    """The columns of a table. A row may be too short or too long, and the file UTF-8 or
    Windows-1252, as BIRD's are."""
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("cp1252", errors="replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    if _COLUMN not in rows.fieldnames:
        raise InputError(f"{file}: expected CSV with {_COLUMN}, found {rows.fieldnames}")
    found = {}
    try:
        for row in rows:
            if column := (row[_COLUMN] or "").strip():
                texts = {key: (row.get(field) or "").strip() for key, field in _TEXTS.items()}
                found[column] = {key: text for key, text in texts.items() if text}
    except csv.Error as error:
        raise InputError(f"{file}: line {rows.line_num}: expected CSV: {error}") from error
    return found
