"""Inspections: a gold query, its answer, and a copy of the database in reverse order, for doubts.

If `SELECT name FROM ship LIMIT 1` gives 'Sun' on the database and 'Tern' on the copy, its answer is
no fact of the data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sqlglot import exp

from answerkey.engines.answers import REL_TOL, Order, answers_match, shape_answer
from answerkey.engines.database import Database, Limits, QueryError, Row
from answerkey.engines.executions import Executions
from answerkey.engines.names import SQLITE
from answerkey.engines.opening import find_engine
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.reordered import NAMES_STORAGE
from answerkey.sql.scopes import Scopes


class ReorderedCopy(contextlib.ExitStack):
    """The reordered copy of a database, made when a query first needs it.

    >>> with ReorderedCopy(path) as copy:                            # doctest: +SKIP
    ...     copy.find_database("SELECT name FROM ship LIMIT 1").execute(...)
    [('Tern',)]
    """

    def __init__(
        self,
        path: Path,
        limits: Limits | None = None,
        *,
        now: str | None = None,
        folder: Path | None = None,
    ) -> None:
        super().__init__()
        self._path = path
        self._limits = limits
        self._now = now
        self._parent = folder
        self._database: Database | None = None
        self._is_made = False

    def find_database(self, sql: str) -> Database | None:
        """Return the copy, or None if it cannot test a query: the query or a view names the rowid
        or tables of SQLite's own, or the database is too large.

        Raises:
            sqlite3.DatabaseError: the file is no database, or a corrupt one.
        """
        engine = find_engine(self._path)
        if engine.name == SQLITE and NAMES_STORAGE.search(sql):
            return None
        if not self._is_made:
            database = engine.open_reordered(
                self._path, self._limits, now=self._now, folder=self._parent
            )
            self._is_made = True
            self._database = database and self.enter_context(database)
        return self._database


_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class AnswerBounds:
    """The size from which an answer is flagged (rows, and bytes of its JSON), and the relative and
    absolute tolerance between floats. The defaults are enough to find ties."""

    max_rows: int = 1000
    max_bytes: int = 65_536
    rel_tol: float = REL_TOL
    abs_tol: float = 0.0


@dataclass(slots=True)
class Inspection:
    """A gold query that was executed.

    sql, tree: its text, and its parsed tree. Doubts share the tree: copy it before a change.
    rows: its answer.
    real: its database, where doubts look for evidence within the same limits. It remembers what
        was asked.
    copy: the same rows in reverse order; None if nobody needs them.
    bounds: the sizes from which an answer is flagged.
    scopes: the resolved names of the tree.
    """

    sql: str
    tree: exp.Expr
    schema: Schema
    rows: list[Row]
    real: Executions
    copy: ReorderedCopy | None = None
    bounds: AnswerBounds = AnswerBounds()
    scopes: Scopes = field(init=False)
    _known: dict[Callable[[Inspection], Any], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.scopes = Scopes(self.tree, self.schema)

    @property
    def database(self) -> Database:
        return self.real.database

    def matches(self, rows: Sequence[Any], others: Sequence[Any], *, ordered: Order) -> bool:
        """Return whether two lists of rows are the same answer, within the tolerance."""
        return answers_match(
            shape_answer(rows),
            shape_answer(others),
            ordered=ordered,
            rel_tol=self.bounds.rel_tol,
            abs_tol=self.bounds.abs_tol,
        )

    @property
    def is_scalar(self) -> bool:
        return len(self.rows) == 1 and len(self.rows[0]) == 1

    def once(self, function: Callable[[Inspection], _Result]) -> _Result:
        """Return what a function gives for this inspection: it is called once for all doubts."""
        if function not in self._known:
            self._known[function] = function(self)
        known: _Result = self._known[function]
        return known


def execute_on_copy(inspection: Inspection) -> tuple[Database, list[Row]] | None:
    """Return the reordered copy and the rows of the query there; None if there is no copy, or the
    query fails on it."""
    database = inspection.copy and inspection.copy.find_database(inspection.sql)
    try:
        return (database, database.execute(inspection.sql)) if database else None
    except QueryError:
        return None
