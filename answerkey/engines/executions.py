"""Execute queries on one database, and compare their answers there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from answerkey.base.reasons import Reason
from answerkey.engines.answers import (
    REL_TOL,
    Order,
    drop_residue,
    group_rows,
    list_takes,
    match_rows,
)
from answerkey.engines.database import Database, QueryError, Row

_BOUNDS = {Reason.STEP_BUDGET_EXCEEDED, Reason.TIME_EXCEEDED}


class _Execution(NamedTuple):
    """The rows of a query, and the steps at which it was stopped; both are None if it failed."""

    rows: list[Row] | None
    stopped_at: int | None


class Executions:
    """A database, with the rows of queries that were executed on it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._known: dict[str, _Execution] = {}
        self._refused: set[str] = set()

    def find_rows(self, sql: str, *, max_steps: int | None = None) -> list[Row] | None:
        """Return the rows of a query; None if it fails, or is stopped at `max_steps`.

        It is executed once, and again only if it may now take more steps than before.
        """
        steps = max_steps or self.database.limits.max_steps
        known = self._known.get(sql)
        if known is None or (known.stopped_at is not None and known.stopped_at < steps):
            known = self._known[sql] = self._execute(sql, steps)
        return known.rows

    def _execute(self, sql: str, steps: int) -> _Execution:
        try:
            return _Execution(self.database.execute(sql, max_steps=steps), None)
        except QueryError as error:
            is_stopped = error.reason is Reason.STEP_BUDGET_EXCEEDED
            return _Execution(None, steps if is_stopped else None)

    def read_rows(self, sql: str) -> list[Row]:
        """Return the rows of a query that is known to run here.

        Raises:
            LookupError: the query fails.
        """
        rows = self.find_rows(sql)
        if rows is None:
            raise LookupError(f"a query that was expected to run has no rows: {sql}")
        return rows

    def tells_apart(
        self,
        rows: list[Row],
        sql: str,
        *,
        ordered: Order,
        accepted_rows: Sequence[Any] | None = None,
        abs_tol: float = 0.0,
        max_steps: int | None = None,
    ) -> bool | None:
        """Return whether a query's answer differs from these rows; None if it exceeds its steps."""
        try:
            others = self.database.execute(sql, max_steps=max_steps)
        except QueryError as error:
            if error.reason is Reason.SQL_ERROR:
                self._refused.add(sql)
            return None if error.reason in _BOUNDS else True
        return not are_same(
            rows, others, ordered=ordered, accepted_rows=accepted_rows, abs_tol=abs_tol
        )

    def was_refused(self, sql: str) -> bool:
        """Return whether `tells_apart` met an error in the SQL of a query."""
        return sql in self._refused


def are_same(
    left: list[Row] | None,
    right: list[Row] | None,
    *,
    ordered: Order,
    accepted_rows: Sequence[Any] | None = None,
    abs_tol: float = 0.0,
) -> bool:
    """Return whether two lists of rows are the same answer. None, for a query that failed, is not
    the same as anything.

    accepted_rows: the segments of a right answer, if LIMIT cuts through a tie of the left rows.
    abs_tol: an absolute tolerance for floats.
    """
    if left is None or right is None:
        return False
    if accepted_rows is not None:
        return is_choice(right, left, accepted_rows, abs_tol=abs_tol)
    return match_rows(left, right, ordered=ordered, rel_tol=REL_TOL, abs_tol=abs_tol)


def is_choice(
    rows: list[Row], gold_rows: list[Row], accepted_rows: Sequence[Any], *, abs_tol: float = 0.0
) -> bool:
    """Return whether rows take the right number from each segment, if LIMIT cuts through a tie.

    >>> segments = [1, {"rows": [["b"], ["c"]], "take": 1}]
    >>> is_choice([("a",), ("c",)], [("a",), ("b",)], segments)
    True
    >>> is_choice([("a",), ("d",)], [("a",), ("b",)], segments)
    False
    """
    takes = list_takes(accepted_rows)
    if len(rows) != sum(takes):
        return False
    for segment, (start, end) in zip(
        accepted_rows, pairwise(accumulate(takes, initial=0)), strict=True
    ):
        wanted = gold_rows[start:end] if isinstance(segment, int) else map(tuple, segment["rows"])
        groups = group_rows([*wanted], rows[start:end], rel_tol=REL_TOL, abs_tol=abs_tol)
        if any(len(given) > len(known) for known, given in groups.values()):
            return False
    return True


def is_void(rows: list[Row], *, abs_tol: float = 0.0) -> bool:
    """Return whether an answer is void: it has no row, or only NULL, 0 and floats close to 0.

    >>> is_void([]), is_void([(0, None)]), is_void([(0.1 + 0.2 - 0.3,)]), is_void([("none",)])
    (True, True, True, False)
    """
    return all(value is None or _is_zero(value, abs_tol) for row in rows for value in row)


def _is_zero(value: Any, abs_tol: float) -> bool:
    if type(value) is float:
        return abs(drop_residue(value)) <= abs_tol
    return bool(value == 0)
