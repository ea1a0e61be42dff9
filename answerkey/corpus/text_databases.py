"""A database built from SQL text has the same bytes whichever SQLite library builds it: those of
answerkey.sqlite.file_layout.

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
from answerkey.sqlite.file_layout import LAYOUT, PAGE_BYTES, serialize_database

_MOST_BROKEN = 1000  # rows that are counted where foreign keys point nowhere


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
                _check_tables(connection)
                return serialize_database(connection)
            except InputError as error:
                raise InputError(f"{sql_path}: {error}") from error
            except (sqlite3.Error, MemoryError, ValueError) as error:
                raise InputError(f"{sql_path}: {execution.explain(error)}") from error


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


def _check_tables(connection: sqlite3.Connection) -> None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE rootpage").fetchone():
        raise InputError("makes no table: expected CREATE TABLE and INSERT")


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
