"""type_mismatch: a comparison is decided by the types of its sides, not by their values.

Coercion that gives what a person expects is no finding: an integer column compared with '3', or
a text column whose numbers are written as SQLite writes them compared with 3.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import EQUALITIES, PATTERNS, Comparison, Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.audit.operands import (
    NUMBERS,
    NUMERIC_AFFINITIES,
    TEXT,
    count_numbers,
    find_affinity,
    find_storage,
    is_number_sql,
)
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sqlite.schema import quote_name

_CONDITIONS_SHOWN = 3
_ABOVE = frozenset({">", ">="})
_BELOW = frozenset({"<", "<="})


def find_type_mismatch(inspection: Inspection) -> list[Finding]:
    """A finding where a comparison depends on types: `strftime('%Y', day) = 2020` never holds.

    Each condition of the evidence has one of these effects:
    never, always: the two sides are never of the same class (numbers are less than any text);
    no_number: a text column that holds no number is compared with one;
    text_order: a text column is compared with a number as text, which changes `rows` rows;
    met_by_text: text in a column of numbers is greater than every number, in `rows` rows;
    spelling: text such as '007' meets the number 7 although the texts differ, in `rows` rows.
    """
    reading = read_query(inspection)
    conditions: list[dict[str, Any]] = []
    for comparison in reading.comparisons:
        found = _judge(comparison, reading)
        if found is not None:
            conditions.append({"condition": comparison.text} | found)
    if not conditions:
        return []
    return [Finding(Flag.TYPE_MISMATCH, {"conditions": conditions[:_CONDITIONS_SHOWN]})]


def _judge(comparison: Comparison, reading: Reading) -> dict[str, Any] | None:
    left, right, operator = comparison.left, comparison.right, comparison.operator
    if operator in PATTERNS or isinstance(right, exp.Null | exp.Boolean):
        return None
    affinities = find_affinity(left, reading), find_affinity(right, reading)
    if affinities == ("TEXT", "TEXT"):
        return None
    if reading.is_literal(right) and reading.is_literal(left):
        return None
    applied = applied_affinity(*affinities)
    if has_common_class(comparison, affinities, applied, reading):
        return None  # nearly always, and much faster
    return judge_by_storage(comparison, affinities, applied, reading)


def judge_by_storage(
    comparison: Comparison,
    affinities: tuple[str | None, str | None],
    applied: str | None,
    reading: Reading,
) -> dict[str, Any] | None:
    """The effect of a comparison, by all that is stored in its columns; None where it has none."""
    left, right, operator = comparison.left, comparison.right, comparison.operator
    sides = [
        _after_coercion(expression, own, applied, reading)
        for expression, own in zip((left, right), affinities, strict=True)
    ]
    found = _find_constant(operator, *sides)
    if found is None and reading.is_literal(right):
        if applied == "TEXT":
            found = _find_text_order(comparison, reading)
        elif operator in _ABOVE and not reading.is_string(right):
            found = _find_text_above(comparison, sides[0], reading)
    elif found is None and applied == "NUMERIC" and operator in EQUALITIES:
        found = _find_spelling(left, right, affinities, reading)
    if found is None:
        return None
    return {"affinities": list(affinities)} | found


def has_common_class(
    comparison: Comparison,
    affinities: tuple[str | None, str | None],
    applied: str | None,
    reading: Reading,
) -> bool:
    """Whether a column and a literal, or two columns, are seen to have values of one class, where
    that alone makes the comparison one of values."""
    left, right = comparison.left, comparison.right
    if reading.is_string(right):
        is_number = applied == "NUMERIC" and _is_number(right.name)
        return _holds_any(left, NUMBERS if is_number else {TEXT}, reading)
    if isinstance(right, exp.Literal):
        is_sure = applied != "TEXT" and comparison.operator not in _ABOVE
        return is_sure and _holds_any(left, NUMBERS, reading)
    return set(affinities) <= NUMERIC_AFFINITIES and all(
        _holds_any(side, NUMBERS, reading) for side in (left, right)
    )


def _holds_any(expression: exp.Expression, storage: Collection[str], reading: Reading) -> bool:
    base = reading.returned_column(expression)
    return base is not None and reading.values.holds_any(base[0].name, base[1].name, storage)


def applied_affinity(left: str | None, right: str | None) -> str | None:
    """The affinity that SQLite applies to one of the sides before it compares them, or None."""
    are_numeric = [side in NUMERIC_AFFINITIES for side in (left, right)]
    if any(are_numeric):
        return None if all(are_numeric) else "NUMERIC"
    if None in (left, right) and "TEXT" in (left, right):
        return "TEXT"
    return None


def _after_coercion(
    expression: exp.Expression, own: str | None, applied: str | None, reading: Reading
) -> frozenset[str]:
    """'number' and 'text': the classes of a side once affinity is applied; empty if unknown."""
    storage = find_storage(expression, reading)
    kinds = {"number" if kind in NUMBERS else kind for kind in storage}
    if applied == "TEXT" and own is None and "number" in kinds:
        kinds = (kinds - {"number"}) | {TEXT}
    if applied == "NUMERIC" and own not in NUMERIC_AFFINITIES and TEXT in kinds:
        base = reading.returned_column(expression)
        if reading.is_string(expression):
            kinds = {"number" if _is_number(expression.name) else TEXT}
        elif base is None:
            return frozenset()  # a text that is computed may be a number
        else:
            numbers = count_numbers(reading, base[0].name, base[1].name)
            others = sum(reading.values.storage(base[0].name, base[1].name).values()) - numbers
            kinds = {kind for kind, count in (("number", numbers), (TEXT, others)) if count}
    return frozenset(kinds)


def _find_constant(
    operator: str, left: frozenset[str], right: frozenset[str]
) -> dict[str, Any] | None:
    if not left or not right or left & right or "blob" in left | right:
        return None
    if operator in EQUALITIES:
        return {"effect": "never"}
    is_left_less = left == {"number"}
    holds = operator in (_BELOW if is_left_less else _ABOVE) or operator in ("!=", "IS NOT")
    return {"effect": "always" if holds else "never"}


def _find_text_order(comparison: Comparison, reading: Reading) -> dict[str, Any] | None:
    """A text column and a number: whether a comparison of numbers would come out otherwise."""
    base = reading.base_column(comparison.left)
    if base is None or reading.is_string(comparison.right):
        return None
    table, column = quote_name(base[0].name), quote_name(base[1].name)
    values = reading.values
    if not values.storage(base[0].name, base[1].name):
        return None
    number = reading.literal_sql(comparison.right)
    if not count_numbers(reading, base[0].name, base[1].name):
        return {"effect": "no_number"}
    differs = (
        f"FROM {table} WHERE {is_number_sql(column)} AND ({column} {comparison.operator} {number})"
        f" IS NOT (CAST({column} AS NUMERIC) {comparison.operator} {number})"
    )
    rows = values.ask_number(f"SELECT count(*) {differs}")
    if not rows:
        return None
    shown = values.ask_column(f"SELECT DISTINCT {column} {differs} ORDER BY 1 LIMIT 3")
    return {"effect": "text_order", "rows": rows, "values": shown}


def _find_text_above(
    comparison: Comparison, side: frozenset[str], reading: Reading
) -> dict[str, Any] | None:
    """Text among the numbers of a column, all of which is greater than the number asked for."""
    base = reading.base_column(comparison.left)
    if base is None or TEXT not in side or "number" not in side:
        return None
    table, column = quote_name(base[0].name), quote_name(base[1].name)
    rows = reading.values.storage(base[0].name, base[1].name)[TEXT]
    shown = reading.values.ask_column(
        f"SELECT DISTINCT {column} FROM {table} WHERE typeof({column}) = 'text' ORDER BY 1 LIMIT 3"
    )
    return {"effect": "met_by_text", "rows": rows, "values": shown}


def _find_spelling(
    left: exp.Expression,
    right: exp.Expression,
    affinities: tuple[str | None, str | None],
    reading: Reading,
) -> dict[str, Any] | None:
    """A column of text and one of numbers: numbers that SQLite would not spell so."""
    text_side = right if affinities[0] in NUMERIC_AFFINITIES else left
    base = reading.returned_column(text_side)
    if base is None:
        return None
    table, column = quote_name(base[0].name), quote_name(base[1].name)
    spelt = (
        f"FROM {table} WHERE typeof({column}) = 'text' AND {is_number_sql(column)}"
        f" AND {column} <> CAST(CAST({column} AS NUMERIC) AS TEXT)"
    )
    rows = reading.values.ask_number(f"SELECT count(*) {spelt}")
    if not rows:
        return None
    shown = reading.values.ask_column(f"SELECT DISTINCT {column} {spelt} ORDER BY 1 LIMIT 3")
    return {"effect": "spelling", "rows": rows, "values": shown}


def _is_number(text: str) -> bool:
    """Whether numeric affinity makes a number of a text literal.

    >>> [_is_number(text) for text in ("5", " 5.0e1 ", "5 km", "", "nan", "1_0", "0x10")]
    [True, True, False, False, False, False, False]
    """
    if not text.strip(" \t\n\v\f\r")[:1] or not set(text) <= set("0123456789+-.eE \t\n\v\f\r"):
        return False
    try:
        float(text)
    except ValueError:
        return False
    return True
