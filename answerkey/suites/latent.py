"""Latent ambiguity: a reading that differs from gold on a variant alone."""

from __future__ import annotations

from typing import TypedDict

from answerkey.alternatives.shown import Difference, show_difference
from answerkey.rewrites.trees import Change
from answerkey.sqlite.answers import Order
from answerkey.sqlite.guard import Row, Value


class LatentAmbiguity(TypedDict):
    """A reading of a question that differs from gold on a variant, with rows of both there, as
    `show_difference` has them.

    reading_rows, difference: None if the reading fails.
    """

    reading: str
    sql: str
    gold_rows: list[list[Value]]
    reading_rows: list[list[Value]] | None
    difference: Difference | None


def show_latent(
    reading: Change,
    rows: list[Row],
    others: list[Row] | None,
    *,
    order: Order,
    abs_tol: float = 0.0,
) -> LatentAmbiguity:
    """Describe a reading whose rows on a variant are not those of gold."""
    gold_rows, reading_rows, difference = show_difference(
        rows, others or [], order=order, abs_tol=abs_tol
    )
    return {
        "reading": reading.name,
        "sql": reading.sql,
        "gold_rows": gold_rows,
        "reading_rows": None if others is None else reading_rows,
        "difference": None if others is None else difference,
    }
