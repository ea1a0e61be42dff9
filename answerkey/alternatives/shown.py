"""In which rows two answers differ, as somebody reads it who has to say which of them is meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate, islice, pairwise
from typing import Literal, NotRequired, TypedDict

from answerkey.engines.answers import REL_TOL, Order, code_row, join_close
from answerkey.engines.database import Row, Value

_MAX_SHOWN_ROWS = 3
_MAX_SHOWN_CHARACTERS = 200

Rows = list[list[Value]]


class Difference(TypedDict):
    """How two answers differ, gold's the first of each pair.

    differs: the same rows in another order, the same rows not as often, or other rows.
    counts: how many rows each has.
    lacking: how many different rows of each the other lacks, or has less often.
    times: of each row that is shown, on each side, how often it stands in gold and in the other;
        there if a row stands more than once.
    from_row: the place, from 1, of the first row that is shown; there if order alone differs.
    """

    differs: Literal["order", "repeats", "rows"]
    counts: list[int]
    lacking: list[int]
    times: NotRequired[list[list[list[int]]]]
    from_row: NotRequired[int]


def show_difference(
    rows: list[Row], others: list[Row], *, order: Order = True, abs_tol: float = 0.0
) -> tuple[Rows, Rows, Difference]:
    """The first rows of each of two answers that the other lacks or has less often, each once, and
    how the answers differ.

    >>> show_difference([(1,), (2,), (2,)], [(2,), (3,)])[:2]
    ([[1], [2]], [[3]])
    >>> show_difference([(1,), (2,), (2,)], [(2,), (3,)])[2]["times"]
    [[[1, 0], [2, 1]], [[0, 1]]]

    Where order alone differs, the rows from the first place on at which they part.

    >>> show_difference([("a",), ("b",), ("c",)], [("a",), ("c",), ("b",)])
    ... # doctest: +NORMALIZE_WHITESPACE
    ([['b'], ['c']], [['c'], ['b']],
     {'differs': 'order', 'counts': [3, 3], 'lacking': [0, 0], 'from_row': 2})

    Rows are the same as where answers are compared: 1 is not 1.0, and floats may be close.
    """
    joined = join_close((value for row in (*rows, *others) for value in row), REL_TOL, abs_tol)
    sides = [[code_row(row, joined) for row in side] for side in (rows, others)]
    gold, other = map(Counter, sides)
    lacking = (gold - other, other - gold)
    difference: Difference = {
        "differs": "rows",
        "counts": [len(rows), len(others)],
        "lacking": [len(left) for left in lacking],
    }
    if not any(lacking):
        start = _find_start(*sides, order=order)
        difference |= {"differs": "order", "from_row": start + 1}
        return _cut(rows[start:]), _cut(others[start:]), difference
    if gold.keys() == other.keys():
        difference["differs"] = "repeats"
    shown: list[Rows] = []
    times: list[list[list[int]]] = []
    for side, codes, left in zip((rows, others), sides, lacking, strict=True):
        firsts = {code: row for code, row in zip(codes[::-1], side[::-1], strict=True)}
        kept = [code for code in dict.fromkeys(codes) if code in left][:_MAX_SHOWN_ROWS]
        shown.append(_cut(firsts[code] for code in kept))
        times.append([[gold[code], other[code]] for code in kept])
    if any(max(pair) > 1 for side in times for pair in side):
        difference["times"] = times
    return shown[0], shown[1], difference


def _find_start(left: list[Row], right: list[Row], *, order: Order) -> int:
    """The place of the first of the rows that stand elsewhere, whose order counts so far."""
    lengths = [1] * len(left) if isinstance(order, bool) else order
    for start, end in pairwise(accumulate(lengths, initial=0)):
        if Counter(left[start:end]) != Counter(right[start:end]):
            return start
    return 0


def _cut(rows: Iterable[Row]) -> Rows:
    return [[_cut_text(value) for value in row] for row in islice(rows, _MAX_SHOWN_ROWS)]


def _cut_text(value: Value) -> Value:
    if isinstance(value, str) and len(value) > _MAX_SHOWN_CHARACTERS:
        return f"{value[:_MAX_SHOWN_CHARACTERS]}… ({len(value):,} characters in all)"
    return value
