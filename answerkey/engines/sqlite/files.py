"""Database files: safe names and paths, reading without a lock, the same bytes by any SQLite."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from answerkey.base.errors import InputError
from answerkey.engines.schema import quote_name
from answerkey.engines.sqlite.schema import affinity

_PLAIN_NAME = re.compile(r"(?!\.)[^/\\:\x00-\x1f]+")


def check_db_id(db_id: str) -> str:
    """Return the id if it is one plain folder name: ids are parts of paths, so others are refused.

    Raises:
        InputError: the id is "", "..", ".x", "a/b", "a\\b", has a control character, or is no text.
    """
    if not isinstance(db_id, str) or not _PLAIN_NAME.fullmatch(db_id):
        raise InputError(
            f"Not a database id: {db_id!r}: expected a plain folder name, such as 'pets_1'"
        )
    return db_id


def check_db_ids(db_ids: Iterable[str]) -> list[str]:
    """Return the ids as a list: each is a plain name, and none is repeated in any case.

    Raises:
        InputError: as `check_db_id`; an id is repeated.
    """
    if isinstance(db_ids, str):
        raise InputError(f"Expected a list of database ids, found {db_ids!r}")
    checked = [check_db_id(db_id) for db_id in db_ids]
    seen: dict[str, str] = {}
    for db_id in checked:
        if db_id.casefold() in seen:
            raise InputError(f"Database {db_id} is listed twice (as {seen[db_id.casefold()]})")
        seen[db_id.casefold()] = db_id
    return checked


def find_inside(folder: str | os.PathLike[str], path: str) -> Path:
    """Return the file or folder below a folder to which a path from a file leads.

    >>> find_inside("data", "fleet/fleet.sqlite").as_posix()
    'data/fleet/fleet.sqlite'

    Links are followed. Only the last part of the path may be a link to another folder, since DVC
    links files.

    Raises:
        InputError: the path leads out of the folder, or to nothing.
    """
    target = os.path.normpath(os.path.join(folder, path))
    if "\0" not in path:
        parent, top = os.path.realpath(os.path.dirname(target)), os.path.realpath(folder)
        with contextlib.suppress(ValueError):  # on another drive
            if os.path.commonpath((parent, top)) == top:
                return Path(target)
    raise InputError(f"Not a path in {os.fspath(folder)}: {path!r}: expected one that stays there")


def immutable_uri(path: Path) -> str:
    """Return the URI by which SQLite reads a file without a lock and without a file beside it.

    >>> immutable_uri(Path("/data/car 1.sqlite"))
    'file:///data/car%201.sqlite?mode=ro&immutable=1'
    """
    return f"{path.absolute().as_uri()}?mode=ro&immutable=1"


def open_database(path: Path) -> sqlite3.Connection:
    """Open a read-only connection to a file that does not change, without a lock. In text that is
    not UTF-8, such as a name in Windows-1252, U+FFFD replaces the bytes that cannot be read.

    Use it only to look at schemas: untrusted SQL needs `GuardedDatabase`.
    """
    connection = sqlite3.connect(immutable_uri(path), uri=True)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    return connection


# DVC identifies a database by its bytes, so they must not depend on the version of SQLite. Versions
# differ in what they leave in unused space, in how they encode whole numbers in REAL columns (from
# 3.54 on, beside an index), and in the version number that they write. The bytes were the same from
# 3.39 to 3.54; 3.54 differs if a REAL column is part of a PRIMARY KEY, a UNIQUE constraint or a
# WITHOUT ROWID table.
PAGE_BYTES = 4096
LAYOUT = f"""
PRAGMA page_size = {PAGE_BYTES};
PRAGMA encoding = 'UTF-8';
PRAGMA auto_vacuum = NONE;
PRAGMA foreign_keys = OFF;
PRAGMA secure_delete = ON;
"""


def serialize_database(connection: sqlite3.Connection) -> bytes:
    """Return the file of a database in memory, the same bytes by any SQLite. Its first statements
    must be those of LAYOUT; one more may set another page size."""
    _settle(connection)
    roots = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master") if page]
    return _clear_traces(bytearray(connection.serialize()), [1, *roots])


def _settle(connection: sqlite3.Connection) -> None:
    """Move every value and page to the position where all versions of SQLite put it."""
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        " ORDER BY rowid"
    ).fetchall()
    tables = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    connection.execute("BEGIN")
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {quote_name(name)}")
    for (table,) in tables:
        for column in connection.execute(f"PRAGMA table_info({quote_name(table)})").fetchall():
            if affinity(column[2]) == "REAL":
                name = quote_name(column[1])
                connection.execute(f"UPDATE {quote_name(table)} SET {name} = {name}")
    for _, sql in indexes:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.execute("VACUUM")


def _clear_traces(file: bytearray, pages: list[int]) -> bytes:
    """Zero the unused middle of every b-tree page, and the header fields about the writer.

    Source: sections 1.3 (header) and 1.6 (b-tree pages) of the SQLite manual's file format.
    """
    file[24:28] = file[92:96] = (1).to_bytes(4, "big")  # change counter, version-valid-for
    file[96:100] = bytes(4)  # SQLITE_VERSION_NUMBER

    def read(offset: int, size: int) -> int:
        return int.from_bytes(file[offset : offset + size], "big")

    page_bytes = read(16, 2)
    while pages:
        number = pages.pop()
        page = (number - 1) * page_bytes
        header = page + (100 if number == 1 else 0)
        is_interior = file[header] in (2, 5)
        pointers = header + (12 if is_interior else 8)
        pointers_end = pointers + 2 * read(header + 3, 2)
        if is_interior:
            pages.append(read(header + 8, 4))
            cells = range(pointers, pointers_end, 2)
            pages.extend(read(page + read(cell, 2), 4) for cell in cells)
        content = page + read(header + 5, 2)
        file[pointers_end:content] = bytes(content - pointers_end)
    return bytes(file)
