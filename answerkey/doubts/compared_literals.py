"""The literals that a query compares something with: `weight > 5` -> 5, `kind IN ('a', 'b')` ->
'a', 'b'."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.doubts.query import read_query
from answerkey.english.stated_numbers import read_number
from answerkey.order.inspection import Inspection
from answerkey.sql.conditions import PATTERNS, Comparison, is_literal, read_text

EQUALITIES = frozenset({"=", "!=", "IS", "IS NOT"})
MAX_COLUMN_VALUES = 500  # texts of a column that are read to find another one: it may have millions


class ComparedLiteral(NamedTuple):
    """A literal on the right of a comparison.

    text: the literal as text, without the wildcards of a pattern.
    number: the number that it is; None if it is none.
    is_text: whether it is written as a text.
    """

    text: str
    number: float | None
    is_text: bool
    comparison: Comparison


def list_compared_literals(inspection: Inspection) -> list[ComparedLiteral]:
    """Return the literals that a query compares with something that is not a literal, in order."""
    query = read_query(inspection)
    literals = []
    for comparison in query.comparisons:
        right = comparison.right
        if not is_literal(right, query.scopes) or is_literal(comparison.left, query.scopes):
            continue
        if isinstance(right, exp.Boolean):
            continue
        text = right.this.name if isinstance(right, exp.Neg) else right.name
        if comparison.operator in PATTERNS:
            text = text.replace("%", " ").replace("_", " ").replace("*", " ").strip()
        is_text = read_text(right, query.scopes) is not None
        literals.append(ComparedLiteral(text, read_number(text), is_text, comparison))
    return literals
