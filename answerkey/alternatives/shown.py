"""The rows that are shown of two answers: those in which they differ."""

from __future__ import annotations

from collections import Counter

from answerkey.sqlite.guard import Row, Value

_MAX_SHOWN_ROWS = 3
_MAX_SHOWN_CHARACTERS = 200


def show_rows(rows: list[Row], others: list[Row] | None) -> list[list[Value]]:
    """The first rows of an answer, those before all that the other answer lacks.

    >>> show_rows([(1,), (2,), (3,), (4,), (4,)], [(1,), (2,), (3,), (4,)])
    [[4], [1], [2]]

    Where both have the same rows, those from the first that stands elsewhere. Long texts are cut.
    `others` is None if the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    lacking = Counter(rows) - Counter(others or ())
    if lacking or len(rows) < len(others or ()):
        shown = [*lacking.elements(), *(Counter(rows) - lacking).elements()]
    else:
        pairs = enumerate(zip(rows, others or (), strict=True))
        shown = rows[next((row_index for row_index, (row, other) in pairs if row != other), 0) :]
    return _cut(shown)


def show_lacking_rows(rows: list[Row], others: list[Row]) -> list[list[Value]]:
    """The first rows of an answer that the other answer lacks, or has less often; 1 is not 1.0.

    >>> show_lacking_rows([(1,), (2,), (2,)], [(2,), (1.0,)])
    [[1], [2]]
    """
    left = Counter(map(_tell_types, others))
    lacking = []
    for row in rows:
        typed = _tell_types(row)
        if left[typed] == 0:
            lacking.append(row)
        else:
            left[typed] -= 1
    return _cut(lacking)


def _tell_types(row: Row) -> tuple[tuple[type, Value], ...]:
    return tuple((type(value), value) for value in row)


def _cut(rows: list[Row]) -> list[list[Value]]:
    return [
        [value[:_MAX_SHOWN_CHARACTERS] if isinstance(value, str) else value for value in row]
        for row in rows[:_MAX_SHOWN_ROWS]
    ]
