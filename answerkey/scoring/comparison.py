"""Whether predicted rows equal a gold answer by a rule.

Values, floats and rows are compared by `answerkey.sqlite.answers`; a rule only says which columns
are compared, in which order, and how values are read. If LIMIT cuts through rows that tie, each
right choice of them is right:

    ORDER BY weight LIMIT 2 over (a, 5), (b, 7), (c, 7) -> the segments [a], of which one row is in
    every right answer, and [b, c], of which one row is: a and b are right, a and c are, b and c not
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from answerkey.scoring.columns import ColumnSearch
from answerkey.scoring.rules import Column, Rule, has_float, read_as_floats, read_columns
from answerkey.sqlite.answers import (
    Floats,
    Order,
    Place,
    Row,
    answer_rows,
    are_same_rows,
    group_floats,
    has_choice,
    has_flow,
    list_neighbours,
    list_takes,
    match_rows,
    sort_floats,
    take_apart,
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows that may be in a right answer. If rows tie, `takes` says how many rows of each
    segment are in one. If LIMIT cuts through a tie, `places` says in which segment each row is;
    else all rows are in a right answer."""

    rows: list[Row]
    takes: list[int] | None = None
    places: list[int] | None = None

    @property
    def row_count(self) -> int:
        return len(self.rows) if self.places is None else sum(self.takes)


def rows_match(
    rows: list[Row],
    gold_answer: Any,
    *,
    rule: Rule,
    order_matters: bool,
    accepted_rows: Sequence[Any] | None = None,
) -> bool:
    """Whether the rows are a right answer by the rule.

    >>> from answerkey.scoring.rules import read_rule
    >>> rows_match([(1, "a")], [["a", 1.0]], rule=read_rule("spider"), order_matters=False)
    True
    >>> options = {"rule": read_rule("strict"), "order_matters": True}
    >>> rows_match([("a",), ("c",), ("b",)], ["a", "b", "c"], accepted_rows=[1, 2], **options)
    True
    >>> tie = [1, {"rows": [["b"], ["c"]], "take": 1}]
    >>> rows_match([("a",), ("c",)], ["a", "b"], accepted_rows=tie, **options)
    True

    accepted_rows: if rows tie, the segments of a right answer, in their order if the order of rows
        counts. A number stands for so many rows of the gold answer, the next ones, in any order.
        {rows, take} stands for so many of these rows, in any order, if LIMIT cuts through a tie.

    Raises:
        ValueError: the segments have another number of rows than the gold answer.
    """
    expected = read_expected(gold_answer, accepted_rows)
    if expected.places is None and rule.is_strict:
        ordered = choose_order(rule, order_matters, expected)
        return match_rows(expected.rows, rows, ordered=ordered, rel_tol=rule.rel_tol)
    return find_column_order(rows, expected, rule=rule, order_matters=order_matters) is not None


def read_expected(gold_answer: Any, accepted_rows: Sequence[Any] | None) -> Expected:
    """The rows of a gold answer, and those that are accepted instead if LIMIT cuts a tie."""
    gold = answer_rows(gold_answer)
    if accepted_rows is None:
        return Expected(gold)
    takes = list_takes(accepted_rows)
    if sum(takes) != len(gold) and int in map(type, accepted_rows):
        raise ValueError(
            f"accepted_rows: expected segments of {len(gold)} rows, as gold_answer has, found"
            f" {sum(takes)}"
        )
    if not has_choice(accepted_rows):
        return Expected(gold, takes)
    parts = [
        [tuple(row) for row in segment["rows"]] if isinstance(segment, dict) else gold[start:end]
        for segment, (start, end) in zip(
            accepted_rows, pairwise(accumulate(takes, initial=0)), strict=True
        )
    ]
    places = [place for place, part in enumerate(parts) for _ in part]
    return Expected([row for part in parts for row in part], takes, places)


def choose_order(rule: Rule, order_matters: bool, expected: Expected) -> Order:
    """How far the order of rows counts: rows that tie may come in any order, unless the rule says
    always."""
    if rule.order == "gold" and order_matters and expected.takes:
        return expected.takes
    return rule.has_order(bool(order_matters))


def find_column_order(
    rows: list[Row], expected: Expected, *, rule: Rule, order_matters: bool
) -> tuple[int, ...] | None:
    """Return, for each gold column, the number of the predicted column that makes the rows right;
    None if no order of columns does.

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
    gold_width = len(expected.rows[0])
    if not rule.allows_width(len(rows[0]), gold_width):
        return None
    identity = tuple(range(gold_width))
    if expected.places is None and rule.rows == "multiset" and are_same_rows(expected.rows, rows):
        return identity
    comparison = _Comparison(rows, expected, rule, choose_order(rule, order_matters, expected))
    if comparison.is_right(identity):
        return identity
    if rule.columns == "same":
        return None
    return next(filter(comparison.is_right, comparison.list_orders()), None)


def has_row_count(rows: list[Row], expected: Expected, rule: Rule) -> bool:
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
    def __init__(self, rows: list[Row], expected: Expected, rule: Rule, ordered: Order) -> None:
        self._gold = read_columns(expected.rows, rule)
        self._predicted = read_columns(rows, rule)
        self._expected = expected
        self._rule = rule
        self._ordered = ordered
        self._row_count = len(rows)

    def list_orders(self) -> Iterable[tuple[int, ...]]:
        expected = self._expected
        gold_places: Sequence[int] = [0] * len(expected.rows)
        predicted_places: Sequence[int] = [0] * self._row_count
        if self._ordered is True and expected.places is None:
            gold_places = predicted_places = range(self._row_count)
        elif self._ordered:
            predicted_places = [n for n, take in enumerate(expected.takes) for _ in range(take)]
            gold_places = expected.places or predicted_places
        search = ColumnSearch(
            self._gold,
            self._predicted,
            rule=self._rule,
            gold_places=gold_places,
            predicted_places=predicted_places,
            is_choice=expected.places is not None or self._rule.rows == "subset",
        )
        return search.list_orders()

    def is_right(self, order: tuple[int, ...]) -> bool:
        rule = self._rule
        pairs = [
            self._read_pair(column, self._predicted[number])
            for column, number in zip(self._gold, order, strict=True)
        ]
        gold, predicted = (list(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
        tolerances = {"rel_tol": rule.rel_tol, "abs_tol": rule.abs_tol}
        if self._expected.places is not None:
            is_ordered = bool(self._ordered)
            return _rows_are_a_choice(predicted, gold, self._expected, rule, ordered=is_ordered)
        if rule.rows == "multiset":
            return match_rows(gold, predicted, ordered=self._ordered, **tolerances)
        return _sets_match(gold, predicted, is_subset=rule.rows == "subset", **tolerances)

    def _read_pair(self, gold: Column, predicted: Column) -> tuple[Column, Column]:
        if self._rule.numbers_by_value and (has_float(gold) or has_float(predicted)):
            return read_as_floats(gold), read_as_floats(predicted)
        return gold, predicted


def _rows_are_a_choice(
    predicted: list[Row], gold: list[Row], expected: Expected, rule: Rule, *, ordered: bool
) -> bool:
    """Whether the rows are those of some right answer: as a multiset, a set or a subset of one."""
    takes, sizes = expected.takes, Counter(expected.places)
    parts: dict[Hashable, list[Row]] = defaultdict(list)
    # Segments that are taken as a whole are one, unless their order counts.
    labels = [
        "whole" if take == sizes[number] and not ordered else number
        for number, take in enumerate(takes)
    ]
    for row, place in zip(gold, expected.places, strict=True):
        parts[labels[place]].append(row)
    if ordered:
        return all(
            _fill(predicted[start:end], {number: parts[number]}, {number: end - start}, rule)
            for number, (start, end) in enumerate(pairwise(accumulate(takes, initial=0)))
        )
    open_places: Counter[Hashable] = Counter()
    for label, take in zip(labels, takes, strict=True):
        open_places[label] += take
    return _fill(predicted, parts, open_places, rule)


def _fill(
    predicted: list[Row],
    segments: dict[Hashable, list[Row]],
    takes: dict[Hashable, int],
    rule: Rule,
) -> bool:
    """Whether each predicted row takes a place of an equal row of some segment, and each segment
    gives as many as are taken of it."""
    places = Counter((name, take_apart(row)) for name, part in segments.items() for row in part)
    wanted = Counter(map(take_apart, predicted))
    near = _list_near_places(wanted, places, rule)
    if rule.rows == "multiset":
        demands = [(near[row], count) for row, count in wanted.items()]
    else:
        # Rows that are close to the same gold rows are one row of a set.
        demands = [(list(group), 1) for group in {tuple(near[row]) for row in wanted}]
    if rule.rows == "set":
        usable: Counter[Hashable] = Counter()
        for place in {place for group, _ in demands for place in group}:
            usable[place[0]] += places[place]
        if any(usable[name] < take for name, take in takes.items()):
            return False
    return has_flow(demands, places, takes)


def _list_near_places(
    wanted: Counter[Row], places: Counter[Place], rule: Rule
) -> dict[Row, list[Place]]:
    """For each predicted row the gold rows, by segment, that it may be."""
    gold: dict[Hashable, dict[Row, list[Place]]] = defaultdict(lambda: defaultdict(list))
    for place in places:
        exact, floats = place[1]
        gold[exact][floats].append(place)
    ordered = {exact: sorted(by_floats) for exact, by_floats in gold.items()}
    near: dict[Row, list[Place]] = {}
    for exact, floats in wanted:
        equal = ordered.get(exact, [])
        if floats:
            (numbers,) = list_neighbours([floats], equal, rule.rel_tol, rule.abs_tol)
            equal = [equal[number] for number in numbers]
        near[exact, floats] = [place for found in equal for place in gold[exact][found]]
    return near


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
