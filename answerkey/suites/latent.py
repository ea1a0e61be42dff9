"""Latent ambiguity: a reading that differs from gold on a variant alone."""

from __future__ import annotations

from typing import TypedDict

from answerkey.alternatives.shown import show_rows
from answerkey.alternatives.trees import Change
from answerkey.sqlite.guard import Row, Value


class LatentAmbiguity(TypedDict):
    """A reading of a question that differs from gold on a variant, with rows of both there.

    reading_rows: None if the reading fails.
    """

    reading: str
    sql: str
    gold_rows: list[list[Value]]
    reading_rows: list[list[Value]] | None


def show_latent(reading: Change, rows: list[Row], others: list[Row] | None) -> LatentAmbiguity:
    """Describe a reading whose rows on a variant are not those of gold."""
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": show_rows(rows, others),
        "reading_rows": None if others is None else show_rows(others, rows),
    }
