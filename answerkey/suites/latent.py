"""Latent ambiguity: what is told of a reading that only differs from gold on a variant."""

from __future__ import annotations

from collections import Counter
from typing import TypedDict

from answerkey.alternatives.trees import Change
from answerkey.sqlite.guard import Row, Value

_MAX_SHOWN_ROWS = 3
_MAX_SHOWN_CHARACTERS = 200


class LatentAmbiguity(TypedDict):
    """A reading of a question that differs from gold on a variant, with rows of both there.

    reading_rows: None where the reading fails.
    """

    reading: str
    sql: str
    gold_rows: list[list[Value]]
    reading_rows: list[list[Value]] | None


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


def show_latent(reading: Change, rows: list[Row], others: list[Row] | None) -> LatentAmbiguity:
    """What is told of a reading whose rows on a variant are not those of gold."""
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": show_rows(rows, others),
        "reading_rows": None if others is None else show_rows(others, rows),
    }
