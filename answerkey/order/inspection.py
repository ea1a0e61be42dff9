"""Inspections: a gold query, its answer, and a copy of the database in reverse order, for doubts.

If `SELECT name FROM ship LIMIT 1` gives 'Sun' on the database and 'Tern' on the copy, its answer is
no fact of the data.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from sqlglot import exp

from answerkey.engines.answers import REL_TOL, Order, answers_match, shape_answer
from answerkey.engines.database import Limits, QueryError, Row
from answerkey.engines.executions import Executions
from answerkey.engines.schema import ROWID_NAMES, Schema, fold_name, quote_name
from answerkey.engines.sqlite.files import immutable_uri
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import affinity
from answerkey.sql.query_tree import BINARY, list_collations
from answerkey.sql.scopes import Scopes

_MAX_COPIED_BYTES = 200_000_000  # of a database: each worker needs room for a copy
# A rowid or a table of SQLite's own describes the file, and differs on any copy.
_NAMES_STORAGE = re.compile(rf"(?<!\w)(?:sqlite_|(?:{'|'.join(ROWID_NAMES)})(?!\w))", re.IGNORECASE)


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
        self._database: GuardedDatabase | None = None
        self._has_views_of_storage = False

    def find_database(self, sql: str) -> GuardedDatabase | None:
        """Return the copy, or None if it cannot test a query: the query or a view names the rowid
        or tables of SQLite's own, or the database has more than 200 MB.

        Raises:
            sqlite3.DatabaseError: the file is no database, or a corrupt one.
        """
        if _NAMES_STORAGE.search(sql) or self._path.stat().st_size > _MAX_COPIED_BYTES:
            return None
        if self._database is None:
            folder = tempfile.TemporaryDirectory(prefix="reordered-", dir=self._parent)
            target = Path(self.enter_context(folder)) / "copy.sqlite"
            views = _copy_tables(self._path, target)
            _make_views(target, views)
            self._has_views_of_storage = any(map(_NAMES_STORAGE.search, views))
            self._database = self.enter_context(
                GuardedDatabase(target, self._limits, now=self._now)
            )
        return None if self._has_views_of_storage else self._database


def _copy_tables(path: Path, target: Path) -> list[str]:
    """Write the tables of a database in reverse order; return the statements of its views."""
    with closing(
        sqlite3.connect(immutable_uri(path), uri=True, isolation_level=None)
    ) as connection:
        connection.text_factory = lambda text: text.decode(errors="replace")
        connection.execute("ATTACH ? AS copy", (target.absolute().as_uri(),))
        connection.execute("PRAGMA copy.synchronous = OFF")
        connection.execute("PRAGMA copy.journal_mode = MEMORY")
        tables = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            " AND sql NOT LIKE 'CREATE VIRTUAL %' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " ORDER BY name"
        ).fetchall()
        for name, sql in tables:
            try:
                _copy_table(connection, name, list_collations(sql))
            except sqlite3.Error:
                # An invalid UTF-8 name, a missing function, a full disk: a query of this table
                # fails on the copy, which then tests nothing.
                connection.execute(f"DROP TABLE IF EXISTS copy.{quote_name(name)}")
        views = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'view'").fetchall()
    return [sql for (sql,) in views]


def _copy_table(connection: sqlite3.Connection, name: str, collations: dict[str, str]) -> None:
    quoted = quote_name(name)
    columns = connection.execute(f"PRAGMA table_xinfo({quoted})").fetchall()
    definitions = (
        f"{quote_name(column)} {affinity(kind)} COLLATE {collations.get(fold_name(column), BINARY)}"
        for _, column, kind, *_ in columns
    )
    names = ", ".join(quote_name(column[1]) for column in columns)
    connection.execute(f"CREATE TABLE copy.{quoted} ({', '.join(definitions)})")
    connection.execute(
        f"INSERT INTO copy.{quoted} SELECT {names} FROM main.{quoted} NOT INDEXED"
        " ORDER BY row_number() OVER () DESC"
    )
    keys = [column[1] for column in sorted(columns, key=itemgetter(5)) if column[5]]
    firsts = set(keys[:1])
    for _, index, *_ in connection.execute(f"PRAGMA index_list({quoted})").fetchall():
        # fetchone gives None if the name of the index is not UTF-8.
        first = connection.execute(f"PRAGMA index_info({quote_name(index)})").fetchone()
        firsts |= {first and first[2]} - {None}  # None means an expression
    for number, column in enumerate(sorted(firsts)):
        index = quote_name(f"{name} key {number}")
        connection.execute(f"CREATE INDEX copy.{index} ON {quoted} ({quote_name(column)})")


def _make_views(target: Path, views: list[str]) -> None:
    """Create the views that can be created: not those whose text is invalid UTF-8."""
    with closing(sqlite3.connect(target, isolation_level=None)) as connection:
        for sql in views:
            with contextlib.suppress(sqlite3.Error):
                connection.execute(sql)


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
    def database(self) -> GuardedDatabase:
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


def execute_on_copy(inspection: Inspection) -> tuple[GuardedDatabase, list[Row]] | None:
    """Return the reordered copy and the rows of the query there; None if there is no copy, or the
    query fails on it."""
    database = inspection.copy and inspection.copy.find_database(inspection.sql)
    try:
        return (database, database.execute(inspection.sql)) if database else None
    except QueryError:
        return None
