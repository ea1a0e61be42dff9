"""Foreign statements run here and nowhere else: they fill an empty database within bounds, with the
same rows on every machine and every day.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from answerkey.sqlite.bounds import BoundedExecution, bound_memory
from answerkey.sqlite.clock import Clock
from answerkey.sqlite.refused_functions import (
    FORBIDDEN_FUNCTIONS,
    LIBRARY_FUNCTIONS,
    NOW_KEYWORDS,
    RANDOM_FUNCTIONS,
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
_BEGIN = (sqlite3.SQLITE_TRANSACTION, "BEGIN")
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


class TextExecution:
    """The statements of a text on an empty connection; use it as a context manager, in whose block
    all that the connection does is bounded. `explain` says why it came to an end."""

    def __init__(
        self, connection: sqlite3.Connection, limits: BuildLimits, *, page_bytes: int
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._page_bytes = page_bytes
        self._bounds = BoundedExecution(connection, limits)
        self._stack = contextlib.ExitStack()
        self._is_begun = False
        self._refused = ""  # what was refused last
        self._statement = ""  # which one was started last

    def __enter__(self) -> Self:
        connection, limits = self._connection, self._limits
        bound_memory(connection, limits)
        most_pages = limits.max_database_bytes // self._page_bytes
        connection.execute(f"PRAGMA max_page_count = {most_pages}").fetchall()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.max_value_bytes)
        self._replace_functions()
        self._stack.enter_context(self._bounds)
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def run(self, text: str) -> None:
        """Run all statements in one transaction, none of which may reach outside the database."""
        connection = self._connection
        connection.set_authorizer(self._authorize)
        connection.set_trace_callback(self._note)
        connection.executescript(f"BEGIN;\n{text}")
        connection.set_trace_callback(None)
        connection.set_authorizer(None)
        connection.execute("COMMIT")
        self._statement = ""

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
        if (action, first) == _BEGIN and not self._is_begun:
            self._is_begun = True
            return sqlite3.SQLITE_OK
        if (action, (first or "").lower()) in _PASSED_OVER:
            return sqlite3.SQLITE_IGNORE
        if action == sqlite3.SQLITE_FUNCTION and first in _CHANGING_FUNCTIONS:
            self._refused = _CHANGING.format(first)
        else:
            name = f"{_ACTION_NAMES.get(action, f'action {action}')} {first or ''}".strip()
            self._refused = f"{name} is not allowed in it"
        return sqlite3.SQLITE_DENY

    def _replace_functions(self) -> None:
        """Refuse a function where it is called: the authorizer does not hear of those in a DEFAULT,
        and a clock function has honest uses too."""
        for name in sorted(_CHANGING_FUNCTIONS):
            self._connection.create_function(name, -1, partial(self._refuse, name))
        self._stack.enter_context(contextlib.closing(Clock(self._connection, self._refuse)))

    def _refuse(self, name: str, *_: Any) -> None:
        self._refused = _CHANGING.format(name)
        raise ValueError(self._refused)
