"""Executions: what queries give on one database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from answerkey.sqlite.answers import Order, match_rows
from answerkey.sqlite.guard import GuardedDatabase, QueryError, Row
from answerkey.sqlite.reasons import QueryReason
from answerkey.sqlite.schema import quote_name

REL_TOL = 1e-6
_MOST_TEXTS = 5
_MAX_STEPS_OF_TEXTS = 500_000
_BOUNDS = {QueryReason.STEP_BUDGET_EXCEEDED, QueryReason.TIME_EXCEEDED}


class Execution(NamedTuple):
    """The rows of a query; None where it has none, for a reason."""

    rows: list[Row] | None
    reason: QueryReason | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the query took too much to say what it gives."""
        return self.reason in _BOUNDS


class Executions:
    """A database, and what the queries give on it that are asked for again."""

    def __init__(self, database: GuardedDatabase) -> None:
        self.database = database
        self._known: dict[str, Execution] = {}

    def run(self, sql: str, *, max_steps: int | None = None) -> Execution:
        """What a query gives."""
        try:
            return Execution(self.database.execute(sql, max_steps=max_steps))
        except QueryError as error:
            return Execution(None, error.reason)

    def find_rows(self, sql: str, *, max_steps: int | None = None) -> list[Row] | None:
        """The rows of a query, which is executed once; None where it has none."""
        if sql not in self._known:
            self._known[sql] = self.run(sql, max_steps=max_steps)
        return self._known[sql].rows

    def find_texts(self, table: str, column: str, words: Sequence[str]) -> list[str]:
        """Which of some words, without quotes in them, are values of a column, as the column has
        them; few, and none where it takes many steps to look."""
        name, values = quote_name(column), ", ".join(f"'{word}'" for word in words)
        sql = (
            f"SELECT DISTINCT {name} FROM {quote_name(table)} WHERE {name} COLLATE NOCASE"
            f" IN ({values}) LIMIT {_MOST_TEXTS}"
        )
        return [value for (value,) in self.find_rows(sql, max_steps=_MAX_STEPS_OF_TEXTS) or []]


def are_same(left: list[Row] | None, right: list[Row] | None, *, ordered: Order) -> bool:
    """Whether two lists of rows are the same answer; None, where a query failed, is none."""
    if left is None or right is None:
        return False
    return match_rows(left, right, ordered=ordered, rel_tol=REL_TOL)


def is_void(rows: list[Row]) -> bool:
    """Whether an answer says nothing: it has no row, or only NULL and 0.

    >>> is_void([]), is_void([(0, None)]), is_void([("none",)])
    (True, True, False)
    """
    return all(value is None or value == 0 for row in rows for value in row)
