"""Where and how rows differ from a gold answer: for logs, and for a model that may try again.

    >>> from answerkey.scoring.rules import read_rule
    >>> found = find_difference([("b",)], ["a"], rule=read_rule("strict"), order_matters=False)
    >>> found.kind, found.missing, found.unexpected
    (<DifferenceKind.WRONG_ROWS: 'wrong_rows'>, [('a',)], [('b',)])

The first of these that is true is said: another number of columns; right but for the order of the
columns, the types of values, the order of the rows or the values of some columns; too few rows, too
many rows, wrong rows. Whether rows are right is decided in `scoring.comparison` alone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from answerkey.scoring.comparison import (
    Expected,
    choose_order,
    find_column_order,
    read_expected,
    rows_match,
)
from answerkey.scoring.rules import Rule, read_as_floats, read_columns
from answerkey.sqlite.answers import Floats, Order, Row, are_close, take_apart

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 200
# Of the prediction and the gold answer together; of more, only the number of rows is said, since to
# find in what they differ takes about ten times as long as to find that they do.
MAX_EXPLAINED_VALUES = 5_000
SHOWN_TIES = 2


class DifferenceKind(StrEnum):
    COLUMN_COUNT = "column_count"
    COLUMN_ORDER = "column_order"
    TYPES = "types"
    ROW_ORDER = "row_order"
    WRONG_COLUMNS = "wrong_columns"
    TOO_FEW_ROWS = "too_few_rows"
    TOO_MANY_ROWS = "too_many_rows"
    WRONG_ROWS = "wrong_rows"


class Difference(NamedTuple):
    """How rows differ, as a sentence, with some rows: missing ones are those of the gold answer,
    unexpected ones those of the prediction. Long texts in them are cut."""

    kind: DifferenceKind
    detail: str
    missing: list[Row]
    unexpected: list[Row]


def guess_column_order(rows: list[Row], expected: Expected, rule: Rule) -> tuple[int, ...]:
    """Return, for each gold column, the predicted column that shares most values with it."""
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
    """The gold rows that no predicted row equals, and the predicted rows that equal no gold row:
    examples for a reader."""
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
    """The numbers of the rows of both sides that stay alone when equal rows are paired; in a set a
    row is paired with each that equals it."""
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
    """Return the right rows without a left one; the left row of each other one is taken away."""
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


def find_difference(
    rows: list[Row],
    gold_answer: Any,
    *,
    rule: Rule,
    order_matters: bool,
    accepted_rows: Sequence[Any] | None = None,
) -> Difference | None:
    """Return how the rows differ from a right answer; None if and only if `rows_match` is true.

    >>> from answerkey.scoring.rules import read_rule
    >>> strict = read_rule("strict")
    >>> find_difference([("1",)], 1, rule=strict, order_matters=False).detail
    "The values are right, but of another type: '1' where 1 is expected."
    """
    options = {"order_matters": order_matters, "accepted_rows": accepted_rows}
    if rows_match(rows, gold_answer, rule=rule, **options):
        return None
    expected = read_expected(gold_answer, accepted_rows)
    if sum(map(len, rows)) + sum(map(len, expected.rows)) > MAX_EXPLAINED_VALUES:
        return _compare_column_counts(rows, expected, rule) or _compare_row_counts(
            rows, expected, rule
        )

    def find_order(**changes: Any) -> tuple[int, ...] | None:
        changed = replace(rule, **changes)
        return find_column_order(rows, expected, rule=changed, order_matters=order_matters)

    return (
        _compare_column_counts(rows, expected, rule)
        or _compare_column_orders(rule, find_order)
        or _compare_types(rows, expected, rule, find_order)
        or _compare_row_orders(rows, expected, rule, order_matters, find_order)
        or _compare_columns(rows, expected, rule, order_matters)
        or _compare_rows(rows, expected, rule)
    )


_FindOrder = Callable[..., tuple[int, ...] | None]


def _compare_column_counts(rows: list[Row], expected: Expected, rule: Rule) -> Difference | None:
    if not rows or not expected.rows:
        return None
    found, width = len(rows[0]), len(expected.rows[0])
    if rule.allows_width(found, width):
        return None
    most = f" to {width + rule.extra_columns}" if rule.columns == "superset" else ""
    detail = f"{_count(found, 'column')}, expected {width}{most}."
    return Difference(DifferenceKind.COLUMN_COUNT, detail, [], [])


def _compare_column_orders(rule: Rule, find_order: _FindOrder) -> Difference | None:
    order = find_order(columns="any_order") if rule.columns == "same" else None
    if order is None:
        return None
    numbers = ", ".join(str(number + 1) for number in order)
    detail = f"The columns stand in another order: expected those of the prediction as {numbers}."
    return Difference(DifferenceKind.COLUMN_ORDER, detail, [], [])


def _compare_types(
    rows: list[Row], expected: Expected, rule: Rule, find_order: _FindOrder
) -> Difference | None:
    if rule.numbers_by_value and rule.numeric_text:
        return None
    order = find_order(numbers_by_value=True, numeric_text=True)
    if order is None:
        return None
    missing, unexpected = list_leftovers(rows, expected, rule, order)
    lenient = replace(rule, numbers_by_value=True, numeric_text=True, row_count=None)
    example = next(
        (
            f"{found!r} where {wanted!r} is expected"
            for gold in missing[:SHOWN_ROWS]
            for row in unexpected
            if find_column_order([row], Expected([gold]), rule=lenient, order_matters=False)
            for found, wanted in zip(
                cut_texts(tuple(row[n] for n in order)), cut_texts(gold), strict=True
            )
            if type(found) is not type(wanted)
        ),
        "some",
    )
    detail = f"The values are right, but of another type: {example}."
    return Difference(DifferenceKind.TYPES, detail, *_show(missing, unexpected))


def _compare_row_orders(
    rows: list[Row], expected: Expected, rule: Rule, order_matters: bool, find_order: _FindOrder
) -> Difference | None:
    ordered = choose_order(rule, order_matters, expected)
    columns = find_order(order="never") if ordered else None
    if columns is None:
        return None
    detail = "The rows are right, but stand in another order"
    start = 0
    for part in _list_segments(expected, ordered):
        end = start + part.row_count
        missing, unexpected = list_leftovers(rows[start:end], part, rule, columns)
        if unexpected:
            wanted = missing or part.rows
            shown = " or ".join(str(cut_texts(row)) for row in wanted[:SHOWN_TIES])
            more = "" if len(wanted) <= SHOWN_TIES else " or another one that ties with it"
            place, found = rows.index(unexpected[0], start) + 1, cut_texts(unexpected[0])
            detail += f": row {place} is {found}, expected {shown}{more}"
            break
        start = end
    return Difference(DifferenceKind.ROW_ORDER, f"{detail}.", [], [])


def _list_segments(expected: Expected, ordered: Order) -> Iterator[Expected]:
    """The rows that may stand in the place of each row, or of each segment."""
    if expected.places is None:
        takes = ordered if isinstance(ordered, list) else [1] * len(expected.rows)
        for start, end in pairwise(accumulate(takes, initial=0)):
            yield Expected(expected.rows[start:end])
    else:
        for place, take in enumerate(expected.takes):
            part = [
                row for row, at in zip(expected.rows, expected.places, strict=True) if at == place
            ]
            yield Expected(part, [take], [0] * len(part))


def _compare_columns(
    rows: list[Row], expected: Expected, rule: Rule, order_matters: bool
) -> Difference | None:
    if rule.columns != "same" or not rows or not expected.rows:
        return None

    def are_right(columns: list[int]) -> bool:
        gold = [tuple(row[number] for number in columns) for row in expected.rows]
        found = [tuple(row[number] for number in columns) for row in rows]
        part = Expected(gold, expected.takes, expected.places)
        return find_column_order(found, part, rule=rule, order_matters=order_matters) is not None

    right = [number for number in range(len(rows[0])) if are_right([number])]
    if not right or not are_right(right):
        return None
    wrong = sorted(set(range(len(rows[0]))) - set(right))
    if not wrong:
        return None
    numbers = ", ".join(str(number + 1) for number in wrong)
    name, verb = ("Column", "differs") if len(wrong) == 1 else ("Columns", "differ")
    detail = f"{name} {numbers} of {len(rows[0])} {verb}; the others are right."
    leftovers = list_leftovers(rows, expected, rule, tuple(range(len(rows[0]))))
    return Difference(DifferenceKind.WRONG_COLUMNS, detail, *_show(*leftovers))


def _compare_rows(rows: list[Row], expected: Expected, rule: Rule) -> Difference:
    order = guess_column_order(rows, expected, rule)
    return _compare_row_counts(rows, expected, rule, *list_leftovers(rows, expected, rule, order))


def _compare_row_counts(
    rows: list[Row],
    expected: Expected,
    rule: Rule,
    missing: Sequence[Row] = (),
    unexpected: Sequence[Row] = (),
) -> Difference:
    found, wanted = _count_rows(rows, expected, rule)
    if not rows or (found < wanted and not unexpected):
        kind = DifferenceKind.TOO_FEW_ROWS
    elif not expected.row_count or (found > wanted and not missing):
        kind = DifferenceKind.TOO_MANY_ROWS
    else:
        kind = DifferenceKind.WRONG_ROWS
    least = "at least " if rule.row_count is not None and rule.row_count[0] == ">=" else ""
    detail = f"{_count(found, 'row')}, expected {least}{wanted}"
    if unexpected:
        detail += f"; {_count(len(unexpected), 'row')} not among the expected"
    if missing:
        detail += f"; {_count(len(missing), 'expected row')} missing"
    if found == wanted and not missing and not unexpected:
        detail += "; not all of them are right together"
    return Difference(kind, f"{detail}.", *_show(missing, unexpected))


def _count_rows(rows: list[Row], expected: Expected, rule: Rule) -> tuple[int, int]:
    if rule.rows == "multiset":
        return len(rows), expected.row_count
    found = len(set(rows))
    if rule.row_count is not None:
        return found, rule.row_count[1]
    if rule.rows == "subset":
        return found, max(1, found)
    return found, min(len(set(expected.rows)), expected.row_count)


def _show(missing: Sequence[Row], unexpected: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    return tuple([cut_texts(row) for row in side[:SHOWN_ROWS]] for side in (missing, unexpected))


def cut_texts(row: Row) -> Row:
    """The row with the beginning of its long texts."""
    return tuple(
        f"{value[:SHOWN_CHARACTERS]}…"
        if type(value) is str and len(value) > SHOWN_CHARACTERS
        else value
        for value in row
    )


def _count(number: int, noun: str) -> str:
    """
    >>> _count(1, "row"), _count(0, "row")
    ('1 row', '0 rows')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
