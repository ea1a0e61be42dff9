"""Whether rows are a right choice where LIMIT cuts through rows that tie.

    ORDER BY weight LIMIT 2 over (a, 5), (b, 7), (c, 7) -> the segments [a], of which one row is in
    every right answer, and [b, c], of which one row is: a and b are right, a and c are, b and c not

A choice is a flow: each predicted row takes a place of an equal row of some segment, a row of a
segment has as many places as it occurs there, and a segment gives as many as are taken of it. The
rows are right where all of them find a place (Ford and Fulkerson, augmenting paths).
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
    Row,
    answer_rows,
    are_same_rows,
    group_floats,
    has_choice,
    list_neighbours,
    list_takes,
    match_rows,
    sort_floats,
    take_apart,
)

_SINK = "sink"


def rows_are_a_choice(
    predicted: list[Row],
    gold: list[Row],
    segments: Sequence[int],
    takes: Sequence[int],
    *,
    rows: str,
    ordered: bool,
    rel_tol: float,
    abs_tol: float,
) -> bool:
    """Whether the rows are those of some right answer: as a multiset, a set or a subset of one.

    >>> gold = [("a",), ("b",), ("c",)]
    >>> options = {"rows": "multiset", "rel_tol": 0.0, "abs_tol": 0.0}
    >>> rows_are_a_choice([("c",), ("a",)], gold, [0, 1, 1], [1, 1], ordered=False, **options)
    True
    >>> rows_are_a_choice([("c",), ("a",)], gold, [0, 1, 1], [1, 1], ordered=True, **options)
    False

    segments: for each gold row the number of its segment.
    takes: for each segment how many of its rows are in a right answer.
    """
    tolerances = {"rel_tol": rel_tol, "abs_tol": abs_tol}
    counted = Counter(segments)
    parts: dict[Hashable, list[Row]] = defaultdict(list)
    if not ordered:
        # Segments that are taken as a whole are one.
        labels = ["whole" if takes[n] == counted[n] else n for n in range(len(takes))]
        open_places: Counter[Hashable] = Counter()
        for label, take in zip(labels, takes, strict=True):
            open_places[label] += take
        for row, segment in zip(gold, segments, strict=True):
            parts[labels[segment]].append(row)
        return _fill(predicted, parts, open_places, rows=rows, **tolerances)
    for row, segment in zip(gold, segments, strict=True):
        parts[segment].append(row)
    start = 0
    for segment, take in enumerate(takes):
        part = predicted[start : start + take]
        start += take
        whole = parts[segment]
        if rows == "multiset" and take == len(whole):
            if not match_rows(whole, part, ordered=False, **tolerances):
                return False
        elif not _fill(part, {segment: whole}, {segment: take}, rows=rows, **tolerances):
            return False
    return True


def _fill(
    predicted: list[Row],
    segments: dict[Hashable, list[Row]],
    takes: dict[Hashable, int],
    *,
    rows: str,
    rel_tol: float,
    abs_tol: float,
) -> bool:
    places = Counter((name, take_apart(row)) for name, part in segments.items() for row in part)
    wanted = Counter(map(take_apart, predicted))
    near = _list_near_places(wanted, places, rel_tol, abs_tol)
    if rows == "multiset":
        demands = [(near[row], count) for row, count in wanted.items()]
    else:
        # Rows that are close to the same gold rows are one row of a set.
        demands = [(list(group), 1) for group in {tuple(near[row]) for row in wanted}]
    if rows == "set":
        usable: Counter[Hashable] = Counter()
        for place in {place for group, _ in demands for place in group}:
            usable[place[0]] += places[place]
        if any(usable[name] < take for name, take in takes.items()):
            return False
    return _has_flow(demands, places, takes)


def _list_near_places(
    wanted: Counter[Row], places: Counter[tuple[Hashable, Row]], rel_tol: float, abs_tol: float
) -> dict[Row, list[tuple[Hashable, Row]]]:
    """For each predicted row the gold rows, by segment, that it may be."""
    gold: dict[Hashable, dict[Row, list[tuple[Hashable, Row]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for place in places:
        exact, floats = place[1]
        gold[exact][floats].append(place)
    ordered = {exact: sorted(by_floats) for exact, by_floats in gold.items()}
    near: dict[Row, list[tuple[Hashable, Row]]] = {}
    for exact, floats in wanted:
        equal = ordered.get(exact, [])
        if floats:
            (numbers,) = list_neighbours([floats], equal, rel_tol, abs_tol)
            equal = [equal[number] for number in numbers]
        near[exact, floats] = [place for found in equal for place in gold[exact][found]]
    return near


def _has_flow(
    demands: list[tuple[list[tuple[Hashable, Row]], int]],
    places: Counter[tuple[Hashable, Row]],
    takes: dict[Hashable, int],
) -> bool:
    """Whether all that is wanted finds a place. The nodes are numbers of demands, places and names
    of segments; what is left of an edge is how much more may flow along it."""
    left: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)
    for name, take in takes.items():
        left["segment", name][_SINK] = take
    for place, count in places.items():
        left[place]["segment", place[0]] = count
    for number, (group, count) in enumerate(demands):
        for place in group:
            left[number][place] = count
    for number in sorted(range(len(demands)), key=lambda number: len(demands[number][0])):
        wanted = demands[number][1]
        while wanted:
            path = _find_direct_path(left, number) or _find_path(left, number)
            if path is None:
                return False
            amount = min(wanted, *(left[a][b] for a, b in path))
            for a, b in path:
                left[a][b] -= amount
                left[b][a] = left[b].get(a, 0) + amount
            wanted -= amount
    return True


def _find_direct_path(
    left: dict[Hashable, dict[Hashable, int]], start: Hashable
) -> list[tuple[Hashable, Hashable]] | None:
    """A path to the sink that takes no place away from others: nearly always, and much faster."""
    for place, amount in left[start].items():
        segment = "segment", place[0]
        if amount and left[place][segment] and left[segment][_SINK]:
            return [(start, place), (place, segment), (segment, _SINK)]
    return None


def _find_path(
    left: dict[Hashable, dict[Hashable, int]], start: Hashable
) -> list[tuple[Hashable, Hashable]] | None:
    """The edges of a path to the sink along which something may flow."""
    came_from: dict[Hashable, Hashable] = {start: start}
    stack = [start]
    while stack:
        node = stack.pop()
        for following, amount in left[node].items():
            if not amount or following in came_from:
                continue
            came_from[following] = node
            if following == _SINK:
                path = []
                while following != start:
                    path.append((came_from[following], following))
                    following = came_from[following]
                return path
            stack.append(following)
    return None


# Whether predicted rows equal a gold answer by a rule.
#
#     >>> from answerkey.scoring.rules import read_rule
#     >>> rows_match([(1, "a")], [["a", 1.0]], rule=read_rule("spider"), order_matters=False)
#     True
#
# Values, floats and rows are compared by `answerkey.sqlite.answers`; a rule only says in which
# shape rows get there: which columns, in which order, and which values are read as which.


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows that may be in a right answer. `takes` says how many rows of each segment are in
    one, where rows tie. `places` says in which segment each row is, where LIMIT cuts through a tie;
    else all rows are in a right answer."""

    rows: list[Row]
    takes: list[int] | None = None
    places: list[int] | None = None

    @property
    def row_count(self) -> int:
        """How many rows a right answer has."""
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
    >>> options = {"rule": read_rule("strict"), "order_matters": True}
    >>> rows_match([("a",), ("c",), ("b",)], ["a", "b", "c"], accepted_rows=[1, 2], **options)
    True
    >>> tie = [1, {"rows": [["b"], ["c"]], "take": 1}]
    >>> rows_match([("a",), ("c",)], ["a", "b"], accepted_rows=tie, **options)
    True

    accepted_rows: for a question whose rows tie, the segments of a right answer, in their order
        where the order of rows counts. A number stands for so many rows of the gold answer, the
        next ones, in any order. Where LIMIT cuts through a tie, {rows, take} stands for so many of
        these rows, in any order.

    Raises:
        ValueError: where the segments have another number of rows than the gold answer.
    """
    expected = read_expected(gold_answer, accepted_rows)
    if expected.places is None and rule.is_strict:
        ordered = choose_order(rule, order_matters, expected)
        return match_rows(expected.rows, rows, ordered=ordered, rel_tol=rule.rel_tol)
    return find_column_order(rows, expected, rule=rule, order_matters=order_matters) is not None


def read_expected(gold_answer: Any, accepted_rows: Sequence[Any] | None) -> Expected:
    """The rows of a gold answer, and those that are accepted instead where LIMIT cuts a tie."""
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
    """How far the order of rows counts by the rule: rows that tie may come in any order, but where
    it always counts."""
    if rule.order == "gold" and order_matters and expected.takes:
        return expected.takes
    return rule.has_order(bool(order_matters))


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

    def __init__(self, rows: list[Row], expected: Expected, rule: Rule, ordered: Order) -> None:
        self._gold = read_columns(expected.rows, rule)
        self._predicted = read_columns(rows, rule)
        self._expected = expected
        self._rule = rule
        self._ordered = ordered
        self._row_count = len(rows)

    def list_orders(self) -> Iterable[tuple[int, ...]]:
        """Orders of columns that may be right."""
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
        """Whether the rows are right with the predicted columns in this order."""
        rule = self._rule
        pairs = [
            self._read_pair(column, self._predicted[number])
            for column, number in zip(self._gold, order, strict=True)
        ]
        gold, predicted = (list(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
        tolerances = {"rel_tol": rule.rel_tol, "abs_tol": rule.abs_tol}
        if self._expected.places is not None:
            return rows_are_a_choice(
                predicted,
                gold,
                self._expected.places,
                self._expected.takes,
                rows=rule.rows,
                ordered=bool(self._ordered),
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
