"""A database from SQL text: foreign statements fill an empty database within bounds.

It has the same bytes on every machine and every day, whichever SQLite library builds it. Each is
built in a process of its own: a statement without end can neither hold the stage up nor end it.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from answerkey.corpus.databases import replace_database
from answerkey.errors import InputError
from answerkey.shards.processes import Died, run_alone
from answerkey.sqlite.bounds import BoundedExecution, bound_memory
from answerkey.sqlite.files import LAYOUT, PAGE_BYTES, serialize_database
from answerkey.sqlite.guard import (
    FORBIDDEN_FUNCTIONS,
    LIBRARY_FUNCTIONS,
    NOW_KEYWORDS,
    RANDOM_FUNCTIONS,
    Clock,
)

# Triggers and virtual tables are missing on purpose: they would act while the file is settled.
_ALLOWED_ACTIONS = {
    getattr(sqlite3, f"SQLITE_{action}")
    for action in (
        *("CREATE_TABLE", "CREATE_INDEX", "CREATE_VIEW", "ALTER_TABLE", "REINDEX"),
        *("DROP_TABLE", "DROP_INDEX", "DROP_VIEW", "INSERT", "UPDATE", "DELETE"),
        *("SELECT", "READ", "RECURSIVE", "FUNCTION"),
    )
}
# What dumps begin and end with has no effect here: all of the text is one transaction, and foreign
# keys are checked at its end.
_PASSED_OVER = {
    (sqlite3.SQLITE_TRANSACTION, "begin"),
    (sqlite3.SQLITE_TRANSACTION, "commit"),
    (sqlite3.SQLITE_PRAGMA, "foreign_keys"),
}
# The functions of a connection are missing on purpose: what they give, the text decides.
_CHANGING_FUNCTIONS = RANDOM_FUNCTIONS | NOW_KEYWORDS | LIBRARY_FUNCTIONS
_REFUSED_FUNCTIONS = FORBIDDEN_FUNCTIONS | _CHANGING_FUNCTIONS
_ACTION_NAMES = {
    sqlite3.SQLITE_ATTACH: "ATTACH",
    sqlite3.SQLITE_DETACH: "DETACH",
    sqlite3.SQLITE_PRAGMA: "PRAGMA",
    sqlite3.SQLITE_FUNCTION: "function",
    sqlite3.SQLITE_TRANSACTION: "transaction",
    sqlite3.SQLITE_SAVEPOINT: "SAVEPOINT",
    sqlite3.SQLITE_CREATE_TRIGGER: "CREATE TRIGGER",
    sqlite3.SQLITE_CREATE_VTABLE: "CREATE VIRTUAL TABLE",
}
_CHANGING = "function {} is not allowed in it: it would give something else in each build"
_AS_FILE = "hand over what is meant to be so large as a file, ID.sqlite, beside the text"
_MOST_BROKEN = 1000  # rows that are counted if foreign keys point nowhere


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """What the text of one database may use.

    max_text_bytes: bytes of the text itself.
    max_steps, max_heap_bytes, max_seconds: as `answerkey.sqlite.bounds.Bounds`, for all statements.
    max_value_bytes: bytes of one value.
    max_database_bytes: bytes of the database, in whole pages.
    """

    max_text_bytes: int = 200_000_000
    max_steps: int = 500_000_000
    max_value_bytes: int = 50_000_000
    max_database_bytes: int = 1 << 28
    max_heap_bytes: int = 1 << 30
    max_seconds: int = 300


class _TextExecution:
    """The statements of a text on an empty connection, and why they came to an end."""

    def __init__(self, connection: sqlite3.Connection, limits: BuildLimits) -> None:
        self._connection = connection
        self._limits = limits
        self._bounds = BoundedExecution(connection, limits)
        self._is_begun = False
        self._refused = ""  # what was refused last
        self._statement = ""  # which one was started last

    def run(self, text: str) -> bytes:
        """The bytes of the database that all statements make, in one transaction. None of them may
        reach outside the database."""
        connection, limits = self._connection, self._limits
        bound_memory(connection, limits)
        most_pages = limits.max_database_bytes // PAGE_BYTES
        connection.execute(f"PRAGMA max_page_count = {most_pages}").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.max_value_bytes)
        # The authorizer does not hear of functions in a DEFAULT, and a clock function has honest
        # uses too: so they are refused where they are called.
        for name in sorted(_CHANGING_FUNCTIONS):
            connection.create_function(name, -1, partial(self._refuse, name))
        with contextlib.closing(Clock(connection, self._refuse)), self._bounds:
            connection.set_authorizer(self._authorize)
            connection.set_trace_callback(self._note)
            connection.executescript(f"BEGIN;\n{text}")
            connection.set_trace_callback(None)
            connection.set_authorizer(None)
            connection.execute("COMMIT")
            self._statement = ""
            _check_references(connection)
            _check_tables(connection)
            return serialize_database(connection)

    def explain(self, error: Exception) -> str:
        """What was refused, which bound was passed, or SQLite's words; and where."""
        words = str(error)
        if self._refused:
            words = self._refused
        elif getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
            most = self._limits.max_database_bytes
            words = f"it makes a database of more than {most} bytes; {_AS_FILE}"
        elif (bound := self._bounds.explain(error)) is not None:
            words = f"it takes too much: {bound[1]}; {_AS_FILE}"
        return f"{words}; at or after: {self._statement.strip()[:80] or 'its end'}"

    def _note(self, statement: str) -> None:
        self._statement = statement

    def _authorize(self, action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            first = (second or "").lower()
            is_allowed = first not in _REFUSED_FUNCTIONS
        else:
            is_allowed = action in _ALLOWED_ACTIONS
        if is_allowed:
            return sqlite3.SQLITE_OK
        if (action, first) == (sqlite3.SQLITE_TRANSACTION, "BEGIN") and not self._is_begun:
            self._is_begun = True  # that of `run`
            return sqlite3.SQLITE_OK
        if (action, (first or "").lower()) in _PASSED_OVER:
            return sqlite3.SQLITE_IGNORE
        if action == sqlite3.SQLITE_FUNCTION and first in _CHANGING_FUNCTIONS:
            self._refused = _CHANGING.format(first)
        else:
            name = f"{_ACTION_NAMES.get(action, f'action {action}')} {first or ''}".strip()
            self._refused = f"{name} is not allowed in it"
        return sqlite3.SQLITE_DENY

    def _refuse(self, name: str, *_: Any) -> None:
        self._refused = _CHANGING.format(name)
        raise ValueError(self._refused)


def build_database(sql_path: Path, limits: BuildLimits | None = None) -> bytes:
    """The bytes of the SQLite file that the statements of a text file make.

    Raises:
        InputError: with the file, the place and SQLite's words, if the text does not run, does more
            than fill a database, takes more than the limits, makes no table, or leaves a foreign
            key pointing nowhere.
    """
    limits = limits or BuildLimits()
    text = _read_text(sql_path, limits.max_text_bytes)
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(LAYOUT)
        execution = _TextExecution(connection, limits)
        try:
            return execution.run(text)
        except InputError as error:
            raise InputError(f"{sql_path}: {error}") from error
        except (sqlite3.Error, MemoryError, ValueError) as error:
            raise InputError(f"{sql_path}: {execution.explain(error)}") from error


def _read_text(sql_path: Path, max_bytes: int) -> str:
    size_bytes = sql_path.stat().st_size
    if size_bytes > max_bytes:
        raise InputError(
            f"{sql_path}: has {size_bytes} bytes, expected {max_bytes} at most; {_AS_FILE}"
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
        InputError: as `build_database`; if the process was ended.
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
