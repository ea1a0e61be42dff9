"""A database built from SQL text has the same bytes whichever SQLite library builds it.

Versions of SQLite differ in what they leave in unused space, in how they encode whole numbers in
REAL columns (from 3.54 on, beside an index), and in the version number they stamp. DVC knows a
database by its bytes: without this, a teammate with another SQLite would see every database as
changed. Seen identical from 3.39 to 3.54; 3.54 alone differs where a REAL column is part of a
PRIMARY KEY, of a UNIQUE constraint, or of a WITHOUT ROWID table.

The stage builds each in a process of its own: a statement without end can neither hold the stage
up nor bring it down.
"""

from __future__ import annotations

import contextlib
import sqlite3
from functools import partial
from pathlib import Path

from answerkey.core.errors import InputError
from answerkey.corpus.databases import replace_database
from answerkey.corpus.text_execution import BuildLimits, TextExecution
from answerkey.shards.processes import Died, run_alone
from answerkey.sqlite.schema import affinity, quote_name

PAGE_BYTES = 4096
_MOST_BROKEN = 1000  # rows that are counted where foreign keys point nowhere
LAYOUT = f"""
PRAGMA page_size = {PAGE_BYTES};
PRAGMA encoding = 'UTF-8';
PRAGMA auto_vacuum = NONE;
PRAGMA foreign_keys = OFF;
PRAGMA secure_delete = ON;
"""


def build_database(sql_path: Path, limits: BuildLimits | None = None) -> bytes:
    """The bytes of the SQLite file that the statements of a text file make.

    Raises:
        InputError: with the file, the place and SQLite's words, where the text does not run, does
            more than fill a database, takes more than the limits, makes no table, or leaves a
            foreign key pointing nowhere.
    """
    limits = limits or BuildLimits()
    text = _read_text(sql_path, limits.max_text_bytes)
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(LAYOUT)
        with TextExecution(connection, limits, page_bytes=PAGE_BYTES) as execution:
            try:
                execution.run(text)
                _check_references(connection)
                _settle(connection)
                roots = _list_roots(connection)
                content = bytearray(connection.serialize())
            except InputError as error:
                raise InputError(f"{sql_path}: {error}") from error
            except (sqlite3.Error, MemoryError, ValueError) as error:
                raise InputError(f"{sql_path}: {execution.explain(error)}") from error
    return _clear_traces(content, [1, *roots])


def _read_text(sql_path: Path, max_bytes: int) -> str:
    size_bytes = sql_path.stat().st_size
    if size_bytes > max_bytes:
        raise InputError(
            f"{sql_path}: has {size_bytes} bytes, expected {max_bytes} at most; hand over"
            " what is meant to be so large as a file, ID.sqlite, beside the text"
        )
    try:
        return sql_path.read_bytes().decode("utf-8-sig")  # read_text would alter line ends
    except UnicodeDecodeError as error:
        raise InputError(f"{sql_path}: expected SQL as UTF-8 text: {error}") from error


def _list_roots(connection: sqlite3.Connection) -> list[int]:
    roots = [page for (page,) in connection.execute("SELECT rootpage FROM sqlite_master") if page]
    if not roots:
        raise InputError("makes no table: expected CREATE TABLE and INSERT")
    return roots


def _check_references(connection: sqlite3.Connection) -> None:
    try:
        broken = connection.execute("PRAGMA foreign_key_check").fetchmany(_MOST_BROKEN + 1)
    except sqlite3.Error as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
            raise
        raise InputError(f"its foreign keys cannot be checked: {error}") from error
    if broken:
        count = len(broken) if len(broken) <= _MOST_BROKEN else f"more than {_MOST_BROKEN}"
        table, rowid, referred, _ = broken[0]
        raise InputError(
            f"{count} rows break a foreign key: the first is row {rowid} of {table}, which refers"
            f" to no row of {referred}"
        )


def _settle(connection: sqlite3.Connection) -> None:
    """Bring every value and every page to the place where all versions put it."""
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
    """Zero the unused middle of every b-tree page and what the header says of the writer.

    Source: sections 1.3 (header) and 1.6 (b-tree pages) of the SQLite manual's file format.
    """
    file[24:28] = file[92:96] = (1).to_bytes(4, "big")  # change counter, version-valid-for
    file[96:100] = bytes(4)  # SQLITE_VERSION_NUMBER

    def read(offset: int, size: int) -> int:
        return int.from_bytes(file[offset : offset + size], "big")

    while pages:
        number = pages.pop()
        page = (number - 1) * PAGE_BYTES
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


def build_in_process(source: Path, path: Path, limits: BuildLimits | None = None) -> None:
    """Make the file of a database from its text.

    Raises:
        InputError: as `build_database`; where the process was ended.
    """
    limits = limits or BuildLimits()
    if isinstance(run_alone(partial(_write_database, path=path, limits=limits), source), Died):
        raise InputError(
            f"{source}: the process that made a database of it was ended: a single step takes"
            f" more than {limits.max_seconds} seconds, or the machine has not enough"
            " memory; make the database yourself, and put it beside the text as ID.sqlite"
        )


def _write_database(source: Path, *, path: Path, limits: BuildLimits) -> None:
    content = build_database(source, limits)
    with replace_database(path) as file:
        file.write(content)
