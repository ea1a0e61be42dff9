"""Shown rows: of two answers that differ, the few rows that show it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from answerkey.sqlite.guard import Row

_MOST_ROWS = 3
_MOST_CHARACTERS = 200


def show_rows(rows: list[Row], others: list[Row] | None) -> list[list[Any]]:
    """The first rows of an answer, those before all that the other answer lacks.

    >>> show_rows([(1,), (2,), (3,), (4,), (4,)], [(1,), (2,), (3,), (4,)])
    [[4], [1], [2]]

    Where both have the same rows, those from the first that stands elsewhere. Long texts are cut.
    `others` is None where the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    others = others or []
    if Counter(rows) == Counter(others):
        pairs = enumerate(zip(rows, others, strict=True))
        start = next((place for place, (row, other) in pairs if row != other), 0)
        return [_cut(row) for row in rows[start:][:_MOST_ROWS]]
    lacking = Counter(rows) - Counter(others)
    first, after = [], []
    for row in reversed(rows):  # of equal rows, the last are those that the other answer lacks
        (first if lacking[row] > 0 else after).append(row)
        lacking[row] -= 1
    return [_cut(row) for row in [*reversed(first), *reversed(after)][:_MOST_ROWS]]


def _cut(row: Row) -> list[Any]:
    return [value[:_MOST_CHARACTERS] if isinstance(value, str) else value for value in row]
