"""What is shown of two answers that differ: the rows in which they do."""

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
    `others` is None where the other query fails.

    >>> show_rows([(1,), (2,), (3,)], [(1,), (3,), (2,)])
    [[2], [3]]
    """
    lacking = Counter(rows) - Counter(others or ())
    if lacking or len(rows) < len(others or ()):
        shown = [*lacking.elements(), *(Counter(rows) - lacking).elements()]
    else:
        pairs = enumerate(zip(rows, others or (), strict=True))
        shown = rows[next((row_index for row_index, (row, other) in pairs if row != other), 0) :]
    return [
        [value[:_MAX_SHOWN_CHARACTERS] if isinstance(value, str) else value for value in row]
        for row in shown[:_MAX_SHOWN_ROWS]
    ]
