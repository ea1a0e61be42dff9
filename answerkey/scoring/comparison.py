"""Whether predicted rows equal a gold answer by a rule.

    >>> from answerkey.scoring.rules import read_rule
    >>> rows_match([(1, "a")], [["a", 1.0]], rule=read_rule("spider"), order_matters=False)
    True

Values, floats and rows are compared by `answerkey.sqlite.answers`; a rule only says in which shape
rows get there: which columns, in which order, and which values are read as which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from answerkey.scoring.columns import ColumnSearch
from answerkey.scoring.rules import Rule
from answerkey.scoring.ties import rows_are_a_choice
from answerkey.scoring.values import Column, has_float, read_as_floats, read_columns
from answerkey.sqlite.answers import (
    Floats,
    Row,
    answer_rows,
    are_same_rows,
    group_floats,
    list_neighbours,
    match_rows,
    sort_floats,
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows that may be in a right answer. `takes` says how many rows of each segment are in
    one, and `places` in which segment each row is; without a tie, all rows are in it."""

    rows: list[Row]
    takes: list[int] | None = None
    places: list[int] | None = None

    @property
    def row_count(self) -> int:
        """How many rows a right answer has."""
        return len(self.rows) if self.takes is None else sum(self.takes)


def rows_match(
    rows: list[Row],
    gold_answer: Any,
    *,
    rule: Rule,
    order_matters: bool,
    accepted_rows: list[dict[str, Any]] | None = None,
) -> bool:
    """Whether the rows are a right answer by the rule.

    >>> from answerkey.scoring.rules import read_rule
    >>> strict = read_rule("strict")
    >>> rows_match([("b",), ("a",)], ["a", "b"], rule=strict, order_matters=False)
    True
    >>> tie = [{"rows": [["a"]], "take": 1}, {"rows": [["b"], ["c"]], "take": 1}]
    >>> rows_match([("a",), ("c",)], ["a", "b"], rule=strict, order_matters=True, accepted_rows=tie)
    True

    accepted_rows: for a question whose LIMIT cuts through a tie, segments of rows. A right answer
        has `take` rows of each segment: its segments in their order where the order of rows
        counts, the rows of one segment in any order.
    """
    if accepted_rows is None and rule.is_strict:
        ordered = rule.has_order(order_matters)
        return match_rows(answer_rows(gold_answer), rows, ordered=ordered, rel_tol=rule.rel_tol)
    expected = read_expected(gold_answer, accepted_rows)
    return find_column_order(rows, expected, rule=rule, order_matters=order_matters) is not None


def read_expected(gold_answer: Any, accepted_rows: list[dict[str, Any]] | None) -> Expected:
    """The rows of a gold answer, or of the segments that are accepted instead."""
    if accepted_rows is None:
        return Expected(answer_rows(gold_answer))
    return Expected(
        [tuple(row) for segment in accepted_rows for row in segment["rows"]],
        [segment["take"] for segment in accepted_rows],
        [place for place, segment in enumerate(accepted_rows) for _ in segment["rows"]],
    )


def find_column_order(
    rows: list[Row], expected: Expected, *, rule: Rule, order_matters: bool
) -> tuple[int, ...] | None:
    """For each gold column the number of the predicted column that makes the rows right; None
    where no order of columns does.

    >>> from answerkey.scoring.rules import read_rule
    >>> expected = Expected([("a", 1), ("b", 2)])
    >>> rows = [(2, "b"), (1, "a")]
    >>> find_column_order(rows, expected, rule=read_rule("spider"), order_matters=False)
    (1, 0)
    """
    if not has_row_count(rows, expected, rule):
        return None
    if not rows:
        return ()
    gold_width, width = len(expected.rows[0]), len(rows[0])
    if width < gold_width or (width > gold_width and rule.columns != "superset"):
        return None
    identity = tuple(range(gold_width))
    if expected.takes is None and rule.rows == "multiset" and are_same_rows(expected.rows, rows):
        return identity
    comparison = _Comparison(rows, expected, rule, rule.has_order(order_matters))
    if comparison.is_right(identity):
        return identity
    if rule.columns == "same":
        return None
    return next(filter(comparison.is_right, comparison.list_orders()), None)


def has_row_count(rows: list[Row], expected: Expected, rule: Rule) -> bool:
    """Whether there are as many rows as there can be in a right answer."""
    if rule.rows == "multiset":
        return len(rows) == expected.row_count
    if bool(rows) is not bool(expected.row_count):
        return False
    if rule.row_count is None:
        return True
    sign, needed = rule.row_count
    found = len(set(zip(*read_columns(rows, rule), strict=True)))
    return found == needed if sign == "=" else found >= needed


class _Comparison:
    """Predicted and expected rows as the columns that a rule reads."""

    def __init__(self, rows: list[Row], expected: Expected, rule: Rule, ordered: bool) -> None:
        self._gold = read_columns(expected.rows, rule)
        self._predicted = read_columns(rows, rule)
        self._expected = expected
        self._rule = rule
        self._ordered = ordered
        self._row_count = len(rows)

    def list_orders(self) -> Iterable[tuple[int, ...]]:
        """Orders of columns that may be right."""
        takes = self._expected.takes
        gold_places: Sequence[int] = [0] * len(self._expected.rows)
        predicted_places: Sequence[int] = [0] * self._row_count
        if self._ordered and takes is None:
            gold_places = predicted_places = range(self._row_count)
        elif self._ordered:
            gold_places = self._expected.places
            predicted_places = [place for place, take in enumerate(takes) for _ in range(take)]
        search = ColumnSearch(
            self._gold,
            self._predicted,
            rule=self._rule,
            gold_places=gold_places,
            predicted_places=predicted_places,
            is_choice=takes is not None or self._rule.rows == "subset",
        )
        return search.list_orders()

    def is_right(self, order: tuple[int, ...]) -> bool:
        """Whether the rows are right with the predicted columns in this order."""
        rule = self._rule
        pairs = [
            self._read_pair(column, self._predicted[number])
            for column, number in zip(self._gold, order, strict=True)
        ]
        gold, predicted = (list(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
        tolerances = {"rel_tol": rule.rel_tol, "abs_tol": rule.abs_tol}
        if self._expected.takes is not None:
            return rows_are_a_choice(
                predicted,
                gold,
                self._expected.places,
                self._expected.takes,
                rows=rule.rows,
                ordered=self._ordered,
                **tolerances,
            )
        if rule.rows == "multiset":
            return match_rows(gold, predicted, ordered=self._ordered, **tolerances)
        return _sets_match(gold, predicted, is_subset=rule.rows == "subset", **tolerances)

    def _read_pair(self, gold: Column, predicted: Column) -> tuple[Column, Column]:
        if self._rule.numbers_by_value and (has_float(gold) or has_float(predicted)):
            return read_as_floats(gold), read_as_floats(predicted)
        return gold, predicted


def _sets_match(
    gold: list[Row], predicted: list[Row], *, is_subset: bool, rel_tol: float, abs_tol: float
) -> bool:
    """Whether each predicted row is close to a gold one, and each gold row to a predicted one."""
    for left, right in group_floats(gold, predicted).values():
        if not _are_covered(set(right), set(left), rel_tol, abs_tol):
            return False
        if not is_subset and not _are_covered(set(left), set(right), rel_tol, abs_tol):
            return False
    return True


def _are_covered(rows: set[Floats], others: set[Floats], rel_tol: float, abs_tol: float) -> bool:
    if rows <= others:
        return True
    if not others:
        return False
    ordered, open_rows = sort_floats(others, rows - others, rel_tol, abs_tol)
    return all(list_neighbours(open_rows, ordered, rel_tol, abs_tol))
