"""Doubts of the answer alone: its rows, its values, its size. They say nothing of the SQL.

The answers that are doubted, and others that are not:

all_null: (NULL), (NULL). Any query that finds nothing gives them. Not (1, NULL).
boolean_answer: 1, 0, 'yes', ' TRUE '. A guess is right every other time. Not 2, 1.0 or '1'.
duplicate_rows: ('Oslo'), ('Oslo'). The question may mean each row once. Not ('Oslo'), ('Bergen').
empty_answer: no row. Any query that finds nothing is right.
many_rows: more rows than `max_rows`.
too_large: more bytes of JSON than `max_bytes`.
"""

from __future__ import annotations

from answerkey.base.records import Finding, encode_json
from answerkey.doubts.doubt import Doubt
from answerkey.engines.answers import shape_answer
from answerkey.order.inspection import Inspection


def find_all_null(inspection: Inspection) -> list[Finding]:
    """Return a finding if the answer has rows, and every value in them is NULL."""
    rows = inspection.rows
    if not rows or any(value is not None for row in rows for value in row):
        return []
    return [Finding("all_null", {"rows": len(rows), "columns": len(rows[0])})]


_BOOLEAN_TEXTS = frozenset({"yes", "no", "true", "false", "t", "f", "y", "n"})


def find_boolean_answer(inspection: Inspection) -> list[Finding]:
    """Return a finding if the answer is one value out of two: 0 or 1, yes or no, true or false."""
    if not inspection.is_scalar:
        return []
    value = inspection.rows[0][0]
    is_boolean = (isinstance(value, int) and value in (0, 1)) or (
        isinstance(value, str) and value.strip().lower() in _BOOLEAN_TEXTS
    )
    return [Finding("boolean_answer", {"answer": value})] if is_boolean else []


def find_duplicate_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if rows of the answer are equal, value by value: 1 and 1.0 are, and so are
    two NULLs, as for DISTINCT."""
    rows = inspection.rows
    distinct = len(set(rows))
    if distinct == len(rows):
        return []
    return [Finding("duplicate_rows", {"rows": len(rows), "distinct": distinct})]


def find_empty_answer(inspection: Inspection) -> list[Finding]:
    """Return a finding if the answer has no row."""
    return [] if inspection.rows else [Finding("empty_answer", {"rows": 0})]


def find_many_rows(inspection: Inspection) -> list[Finding]:
    """Return a finding if the answer has more than `max_rows` rows."""
    rows = len(inspection.rows)
    return [Finding("many_rows", {"rows": rows})] if rows > inspection.bounds.max_rows else []


def find_too_large(inspection: Inspection) -> list[Finding]:
    """Return a finding if the answer as JSON has more than `max_bytes` bytes."""
    size = len(encode_json(shape_answer(inspection.rows)))
    return [Finding("too_large", {"bytes": size})] if size > inspection.bounds.max_bytes else []


DOUBTS = (
    Doubt("all_null", find_in_query=find_all_null),
    Doubt("boolean_answer", find_in_query=find_boolean_answer),
    Doubt("duplicate_rows", find_in_query=find_duplicate_rows),
    Doubt("empty_answer", find_in_query=find_empty_answer),
    Doubt("many_rows", find_in_query=find_many_rows),
    Doubt("too_large", find_in_query=find_too_large),
)
