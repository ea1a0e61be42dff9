"""Decide whether predicted rows equal a gold answer by a rule, and say how they differ.

Rows are compared by `answerkey.engines.answers`. A rule only says which columns are compared, in
which order, and how values are read. If LIMIT cuts through rows that tie, each choice is right:

    ORDER BY weight LIMIT 2 over (a, 5), (b, 7), (c, 7) has two segments: [a], of which a right
    answer has one row, and [b, c], of which it has one row. So (a, b) and (a, c) are right, and
    (b, c) is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

from answerkey.engines.answers import (
    Floats,
    Order,
    Row,
    answer_rows,
    are_close,
    are_same_rows,
    code_row,
    group_rows,
    has_choice,
    join_close,
    list_takes,
    match_rows,
)
from answerkey.scoring.rules import Column, Rule, has_float, read_as_floats, read_columns

# The search for columns ends after this many values, about a second. It counts values and not
# seconds, so that no verdict depends on a clock.
MAX_LOOKED_AT = 4_000_000

_Places = tuple[Sequence[int], Sequence[int]]  # one number per row of gold and of the prediction


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows that a right answer may have. If rows tie, `takes` says how many rows of each
    segment a right answer has. If LIMIT cuts through a tie, `places` is the segment of each row;
    else every row belongs to each right answer."""

    rows: list[Row]
    takes: list[int] = field(default_factory=list)
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
    """Return whether the rows are a right answer by the rule.

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
        counts. A number n means the next n rows of the gold answer, in any order.
        {rows, take} means `take` of these rows, in any order, if LIMIT cuts through a tie.

    Raises:
        ValueError: the segments have another number of rows than the gold answer.
    """
    expected = read_expected(gold_answer, accepted_rows)
    return is_right(rows, expected, rule=rule, order_matters=order_matters)


def read_other_order(
    other: Mapping[str, Any], *, order_matters: bool
) -> tuple[bool, Sequence[Any] | None]:
    """Return order_matters and accepted_rows of another right query's answer. The sequence of its
    rows counts if that of gold's does, unless the answer says more.

    >>> read_other_order({"sql": "SELECT 1", "answer": 1}, order_matters=True)
    (True, None)
    """
    return order_matters and other.get("order_matters", True), other.get("accepted_rows")


def read_expected(gold_answer: Any, accepted_rows: Sequence[Any] | None) -> Expected:
    """Return the rows of a gold answer, or the rows that are accepted if LIMIT cuts a tie."""
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
    segment_indexes = [segment_index for segment_index, part in enumerate(parts) for _ in part]
    return Expected([row for part in parts for row in part], takes, segment_indexes)


def is_right(rows: list[Row], expected: Expected, *, rule: Rule, order_matters: bool) -> bool:
    """Return whether the rows are right in some order of columns that the rule allows."""
    if not _has_row_count(rows, expected, rule):
        return False
    if not rows:
        return True
    width = len(expected.rows[0])
    if not rule.allows_width(len(rows[0]), width):
        return False
    if expected.places is None and rule.rows == "multiset" and are_same_rows(expected.rows, rows):
        return True
    # Rows that tie may come in any order, unless the rule says always.
    ordered: Order = rule.order == "always"
    if rule.order == "gold":
        ordered = order_matters and (expected.takes or True)
    gold, predicted = read_columns(expected.rows, rule), read_columns(rows, rule)
    orders: Iterable[Sequence[int]] = [range(width)]
    if rule.columns != "same":
        places = _list_places(len(rows), expected, ordered)
        is_choice = expected.places is not None or rule.rows == "subset"
        others = list_column_orders(gold, predicted, places, rule=rule, is_choice=is_choice)
        orders = chain(orders, others)
    return any(
        _columns_match(gold, [predicted[n] for n in order], expected, rule, ordered)
        for order in orders
    )


def _has_row_count(rows: list[Row], expected: Expected, rule: Rule) -> bool:
    if rule.rows == "multiset":
        return len(rows) == expected.row_count
    if bool(rows) is not bool(expected.row_count):
        return False
    if rule.row_count is None:
        return True
    sign, needed = rule.row_count
    row_count = len(set(zip(*read_columns(rows, rule), strict=True)))
    return row_count == needed if sign == "=" else row_count >= needed


def _columns_match(
    gold_columns: list[Column],
    columns: list[Column],
    expected: Expected,
    rule: Rule,
    ordered: Order,
) -> bool:
    gold, rows = pair_columns(gold_columns, columns, rule)
    rel_tol, abs_tol = rule.rel_tol, rule.abs_tol
    if expected.places is None and rule.rows == "multiset":
        return match_rows(gold, rows, ordered=ordered, rel_tol=rel_tol, abs_tol=abs_tol)
    groups = group_rows(gold, rows, rel_tol=rel_tol, abs_tol=abs_tol).values()
    if not all(_are_covered(predicted, wanted, rule) for wanted, predicted in groups):
        return False
    if expected.places is not None:
        takes, places = expected.takes, expected.places
        return _is_choice(gold, rows, takes, places, rule, is_ordered=bool(ordered))
    return rule.rows == "subset" or all(_are_covered(*group, rule) for group in groups)


def pair_columns(
    gold: list[Column], predicted: list[Column], rule: Rule
) -> tuple[list[Row], list[Row]]:
    """Return the rows of both sides; a column with a float on either side holds only floats."""
    pairs = [
        (read_as_floats(left), read_as_floats(right))
        if rule.numbers_by_value and (has_float(left) or has_float(right))
        else (left, right)
        for left, right in zip(gold, predicted, strict=True)
    ]
    gold_rows, rows = (list(zip(*side, strict=True)) for side in zip(*pairs, strict=True))
    return gold_rows, rows


def _are_covered(rows: list[Floats], others: list[Floats], rule: Rule) -> bool:
    return all(
        any(are_close(row, other, rule.rel_tol, rule.abs_tol) for other in others)
        for row in set(rows).difference(others)
    )


def _is_choice(
    gold: list[Row],
    rows: list[Row],
    takes: list[int],
    places: list[int],
    rule: Rule,
    *,
    is_ordered: bool,
) -> bool:
    """Return whether the rows are those of a right answer: as a multiset, a set or a subset of it.

    takes, places: those of `Expected`.
    """
    joined = join_close(
        (value for row in (*gold, *rows) for value in row), rule.rel_tol, rule.abs_tol
    )
    coded = [code_row(row, joined) for row in rows]
    parts = [Counter[Row]() for _ in takes]
    for row, segment_index in zip(gold, places, strict=True):
        parts[segment_index][code_row(row, joined)] += 1
    if is_ordered:
        shares = pairwise(accumulate(takes, initial=0))
        return all(
            Counter(coded[start:end]) <= part
            for part, (start, end) in zip(parts, shares, strict=True)
        )
    whole = Counter[Row]()
    cut = []
    for part, take in zip(parts, takes, strict=True):
        if part.total() == take:
            whole += part
        else:
            cut.append((part, take))
    # The bounds of a query cut two segments at most, the first and the last.
    (first, first_take), *others = [*cut, (Counter[Row](), 0)]
    second = sum((part for part, _ in others), Counter[Row]())
    second_take = sum(take for _, take in others)
    if rule.rows == "multiset":
        rest = Counter(coded)
        if not whole <= rest:
            return False
        rest -= whole
    else:
        rest = Counter(set(coded) - set(whole))
        if rule.rows == "set" and not (
            set(whole) <= set(coded)
            and sum(first[row] for row in set(coded)) >= first_take
            and sum(second[row] for row in set(coded)) >= second_take
        ):
            return False
    return (
        rest <= first + second
        and rest.total() <= first_take + second_take
        and (rest - second).total() <= first_take  # rows that only the first segment has
        and (rest - first).total() <= second_take
    )


def _list_places(row_count: int, expected: Expected, ordered: Order) -> _Places:
    """Return a number for each gold and predicted row: its position, if the order counts."""
    if not ordered:
        return [0] * len(expected.rows), [0] * row_count
    if ordered is True and expected.places is None:
        return range(row_count), range(row_count)
    predicted = [number for number, take in enumerate(expected.takes) for _ in range(take)]
    return expected.places or predicted, predicted


def list_column_orders(
    gold: list[Column], predicted: list[Column], places: _Places, *, rule: Rule, is_choice: bool
) -> Iterator[tuple[int, ...]]:
    """Yield the orders of columns that may be right: a predicted column for each gold column.

    >>> from answerkey.scoring.rules import read_rule
    >>> gold, predicted = [("a", "b"), (1, 2)], [(1, 2), ("a", "b")]
    >>> rule = read_rule("spider")
    >>> list(list_column_orders(gold, predicted, ([0, 0], [0, 0]), rule=rule, is_choice=False))
    [(1, 0)]

    A gold column can only match a predicted column that holds the same values, each as often. The
    search adds one column at a time, while both sides have the same rows in the columns chosen so
    far. Floats that a chain of close floats joins are equal here, so the caller must check each
    order. No right order is missed, unless `MAX_LOOKED_AT` ends the search.

    is_choice: the predicted rows may be a part of the gold rows.
    """
    sides = (gold, predicted)
    values = (value for side in sides for column in side for value in read_as_floats(column))
    joined = join_close(values, rule.rel_tol, rule.abs_tol)
    count = Counter if rule.rows == "multiset" else set

    @cache
    def code(side: int, number: int, is_loose: bool) -> Row:
        column = sides[side][number]
        return code_row(read_as_floats(column) if is_loose else column, joined)

    @cache
    def content(side: int, number: int, is_loose: bool) -> Any:
        return count(zip(places[side], code(side, number, is_loose), strict=True))

    @cache
    def is_loose(a: int, b: int) -> bool:
        return rule.numbers_by_value and (has_float(gold[a]) or has_float(predicted[b]))

    def fit(left: Any, right: Any) -> bool:
        return bool(right <= left if is_choice else left == right)

    def extend(places: _Places, a: int, b: int) -> _Places:
        """Number the rows again, so that rows that differ in one more column get other numbers."""
        known: dict[Any, int] = {}
        columns = code(0, a, is_loose(a, b)), code(1, b, is_loose(a, b))
        left, right = (
            [known.setdefault(pair, len(known)) for pair in zip(side, column, strict=True)]
            for side, column in zip(places, columns, strict=True)
        )
        return left, right

    candidates = [
        [
            b
            for b in range(len(predicted))
            if fit(content(0, a, is_loose(a, b)), content(1, b, is_loose(a, b)))
        ]
        for a in range(len(gold))
    ]
    left_to_look_at = MAX_LOOKED_AT
    stack: list[tuple[tuple[int, ...], _Places]] = [((), places)]
    while stack and left_to_look_at > 0 and all(candidates):
        chosen, extended = stack.pop()
        left_to_look_at -= len(places[0]) + len(places[1])
        if chosen:
            extended = extend(extended, len(chosen) - 1, chosen[-1])
            if not fit(*map(count, extended)):
                continue
        if len(chosen) == len(gold):
            left_to_look_at -= len(gold) * (len(places[0]) + len(places[1]))
            yield chosen
        else:
            free = [b for b in candidates[len(chosen)] if b not in chosen]
            stack += [((*chosen, b), extended) for b in reversed(free)]


# How rows differ.

SHOWN_ROWS = 5
SHOWN_CHARACTERS = 200
# Values of the prediction and the gold answer together. Above it, only the number of rows is
# reported: to find the rows that differ takes about ten times as long as to find that they do.
MAX_EXPLAINED_VALUES = 5_000


class DifferenceKind(StrEnum):
    COLUMN_COUNT = "column_count"
    COLUMN_ORDER = "column_order"
    TYPES = "types"
    ROW_ORDER = "row_order"
    TOO_FEW_ROWS = "too_few_rows"
    TOO_MANY_ROWS = "too_many_rows"
    WRONG_ROWS = "wrong_rows"


class RowDifference(NamedTuple):
    """A sentence that says how rows differ, with some rows: `missing` are rows of the gold answer,
    `unexpected` are rows of the prediction. Long texts in them are cut."""

    kind: DifferenceKind
    detail: str
    missing: list[Row]
    unexpected: list[Row]


# The single faults of a prediction, and how the rule would have to be to accept it.
_BUT_FOR = (
    (DifferenceKind.COLUMN_ORDER, "The columns stand in another order.", {"columns": "any_order"}),
    (
        DifferenceKind.TYPES,
        "The values are right, but of another type.",
        {"numbers_by_value": True, "numeric_text": True},
    ),
    (
        DifferenceKind.ROW_ORDER,
        "The rows are right, but stand in another order.",
        {"order": "never"},
    ),
)


def find_difference(
    rows: list[Row],
    gold_answer: Any,
    *,
    rule: Rule,
    order_matters: bool,
    accepted_rows: Sequence[Any] | None = None,
) -> RowDifference | None:
    """Return how the rows differ from a right answer; None if and only if `rows_match` is true.

    >>> from answerkey.scoring.rules import read_rule
    >>> find_difference([("1",)], 1, rule=read_rule("strict"), order_matters=False).detail
    'The values are right, but of another type.'

    The first of these that applies is returned: another number of columns; only the order of
    columns, the types of values or the order of rows is wrong; too few, too many or wrong rows.
    """
    expected = read_expected(gold_answer, accepted_rows)
    if is_right(rows, expected, rule=rule, order_matters=order_matters):
        return None
    width, gold_width = (len(side[0]) if side else 0 for side in (rows, expected.rows))
    if rows and expected.rows and not rule.allows_width(width, gold_width):
        most = f" to {gold_width + rule.extra_columns}" if rule.columns == "superset" else ""
        detail = f"{_count(width, 'column')}, expected {gold_width}{most}."
        return RowDifference(DifferenceKind.COLUMN_COUNT, detail, [], [])
    if sum(map(len, rows)) + sum(map(len, expected.rows)) > MAX_EXPLAINED_VALUES:
        return _compare_rows(rows, expected, rule, [], [])
    missing, unexpected = _list_leftovers(rows, expected, rule)
    for kind, detail, changes in _BUT_FOR:
        changed = replace(rule, **changes)
        if changed != rule and is_right(rows, expected, rule=changed, order_matters=order_matters):
            return RowDifference(kind, detail, _show(missing), _show(unexpected))
    return _compare_rows(rows, expected, rule, missing, unexpected)


def _compare_rows(
    rows: list[Row], expected: Expected, rule: Rule, missing: list[Row], unexpected: list[Row]
) -> RowDifference:
    count, expected_count = _count_rows(rows, expected, rule)
    if not rows or (count < expected_count and not unexpected):
        kind = DifferenceKind.TOO_FEW_ROWS
    elif not expected.row_count or (count > expected_count and not missing):
        kind = DifferenceKind.TOO_MANY_ROWS
    else:
        kind = DifferenceKind.WRONG_ROWS
    least = "at least " if rule.row_count is not None and rule.row_count[0] == ">=" else ""
    detail = f"{_count(count, 'row')}, expected {least}{expected_count}"
    if unexpected:
        detail += f"; {_count(len(unexpected), 'row')} not among the expected"
    if missing:
        detail += f"; {_count(len(missing), 'expected row')} missing"
    return RowDifference(kind, f"{detail}.", _show(missing), _show(unexpected))


def _count_rows(rows: list[Row], expected: Expected, rule: Rule) -> tuple[int, int]:
    if rule.rows == "multiset":
        return len(rows), expected.row_count
    count = len(set(rows))
    if rule.row_count is not None:
        return count, rule.row_count[1]
    if rule.rows == "subset":
        return count, max(1, count)
    return count, min(len(set(expected.rows)), expected.row_count)


def _list_leftovers(rows: list[Row], expected: Expected, rule: Rule) -> tuple[list[Row], list[Row]]:
    """Return the gold rows that the prediction lacks, if every right answer has them all, and the
    predicted rows that the gold answer lacks. Columns are compared in their order."""
    if not rows or not expected.rows:
        return expected.rows, rows
    gold, predicted = read_columns(expected.rows, rule), read_columns(rows, rule)
    sides = pair_columns(gold, predicted[: len(gold)], rule)
    values = (value for side in sides for row in side for value in row)
    joined = join_close(values, rule.rel_tol, rule.abs_tol)
    gold_codes, codes = ([code_row(row, joined) for row in side] for side in sides)
    needs_all = expected.places is None and rule.rows != "subset"
    missing = _list_other_rows(expected.rows, gold_codes, codes, rule) if needs_all else []
    return missing, _list_other_rows(rows, codes, gold_codes, rule)


def _list_other_rows(rows: list[Row], codes: list[Row], others: list[Row], rule: Rule) -> list[Row]:
    known, left = Counter(others), []
    for row, code in zip(rows, codes, strict=True):
        if not known[code]:
            left.append(row)
        elif rule.rows == "multiset":
            known[code] -= 1
    return left


def _show(rows: list[Row]) -> list[Row]:
    return [cut_texts(row) for row in rows[:SHOWN_ROWS]]


def cut_texts(row: Row) -> Row:
    return tuple(
        f"{value[:SHOWN_CHARACTERS]}…"
        if type(value) is str and len(value) > SHOWN_CHARACTERS
        else value
        for value in row
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
