"""Rows that stay alone when the rows of a prediction are paired with those of a gold answer.

They are examples for a reader. Whether rows are right is decided in `scoring.comparison` alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

from answerkey.scoring.comparison import Expected
from answerkey.scoring.rules import Rule
from answerkey.scoring.values import read_as_floats, read_columns
from answerkey.sqlite.answers import Floats, Row, are_close, take_apart


def guess_column_order(rows: list[Row], expected: Expected, rule: Rule) -> tuple[int, ...]:
    """For each gold column the predicted column that shares most values with it."""
    if not rows or not expected.rows:
        return ()
    width = len(expected.rows[0])
    if rule.columns == "same":
        return tuple(range(width))
    gold, predicted = (
        [Counter(column) for column in read_columns(side, rule)] for side in (expected.rows, rows)
    )
    shared = sorted(
        (-(left & right).total(), abs(a - b), a, b)
        for a, left in enumerate(gold)
        for b, right in enumerate(predicted)
    )
    order: dict[int, int] = {}
    for _, _, a, b in shared:
        if a not in order and b not in order.values():
            order[a] = b
    return tuple(order[number] for number in range(width))


def list_leftovers(
    rows: list[Row], expected: Expected, rule: Rule, order: tuple[int, ...]
) -> tuple[list[Row], list[Row]]:
    """The gold rows that no predicted row equals, and the predicted rows that equal no gold row."""
    if not rows or not expected.rows:
        needed = _list_needed_rows(expected, rule)
        return [expected.rows[number] for number in needed], list(rows)
    gold, predicted = read_columns(expected.rows, rule), read_columns(rows, rule)
    predicted = [predicted[number] for number in order]
    if rule.numbers_by_value:
        gold, predicted = (
            [read_as_floats(column) for column in side] for side in (gold, predicted)
        )
    gold_left, rows_left = _pair_rows(
        list(zip(*gold, strict=True)), list(zip(*predicted, strict=True)), rule
    )
    needed = _list_needed_rows(expected, rule)
    missing = [expected.rows[number] for number in sorted(gold_left & needed)]
    return missing, [rows[number] for number in sorted(rows_left)]


def _list_needed_rows(expected: Expected, rule: Rule) -> set[int]:
    """The numbers of the gold rows that are in every right answer."""
    if rule.rows == "subset":
        return set()
    if expected.places is None:
        return set(range(len(expected.rows)))
    sizes = Counter(expected.places)
    return {
        number
        for number, place in enumerate(expected.places)
        if expected.takes[place] == sizes[place]
    }


def _pair_rows(gold: list[Row], predicted: list[Row], rule: Rule) -> tuple[set[int], set[int]]:
    """The numbers of the rows of both sides that stay alone when equal rows are paired. In a set
    a row is paired with each that equals it."""
    groups: dict[Any, tuple[list[Any], list[Any]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((gold, predicted)):
        for number, row in enumerate(rows):
            exact, floats = take_apart(row)
            groups[exact][side].append((floats, number))
    alone: tuple[list[int], list[int]] = ([], [])
    for group in groups.values():
        left, right = map(sorted, group)
        if rule.rows == "multiset":
            for tolerances in ((0.0, 0.0), (rule.rel_tol, rule.abs_tol)):
                right = _take_pairs_away(left, right, *tolerances)
        else:
            tolerances = (rule.rel_tol, rule.abs_tol)
            left, right = (
                [row for row in side if _find_near(other, row[0], *tolerances) is None]
                for side, other in ((left, right), (right, left))
            )
        for numbers, side in zip(alone, (left, right), strict=True):
            numbers.extend(number for _, number in side)
    return set(alone[0]), set(alone[1])


_Numbered = tuple[Floats, int]  # the floats of a row, and its number


def _take_pairs_away(
    left: list[_Numbered], right: list[_Numbered], rel_tol: float, abs_tol: float
) -> list[_Numbered]:
    """The right rows without a left one, which is taken out of the left rows where there is one."""
    alone = []
    for row in right:
        near = _find_near(left, row[0], rel_tol, abs_tol)
        if near is None:
            alone.append(row)
        else:
            del left[near]
    return alone


def _find_near(
    ordered: list[_Numbered], floats: Floats, rel_tol: float, abs_tol: float
) -> int | None:
    """The place of a row close to these floats, looked for where they would stand."""
    place = bisect_left(ordered, (floats,))
    for near in (place, place - 1):
        if 0 <= near < len(ordered) and are_close(ordered[near][0], floats, rel_tol, abs_tol):
            return near
    return None
