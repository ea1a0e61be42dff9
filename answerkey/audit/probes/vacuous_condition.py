"""vacuous_condition: a literal that is not in its column, a bound that every row meets or none.

A query that leaves such a condition out, or has another literal in it, gets the same answer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.audit.comparisons import (
    PATTERNS,
    RANGES,
    Comparison,
    Reading,
    quote_text,
    read_query,
)
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import quote_name

_CONDITIONS_SHOWN = 3
_NOT_A_ROW_EXPRESSION = (exp.AggFunc, exp.Query, exp.Window)


class _Subject(NamedTuple):
    """What is compared: SQL for it, the table that it is asked of, and whether the query reads the
    rows of that table as they are."""

    sql: str
    table: str
    from_sql: str
    is_column: bool
    has_all_rows: bool


def find_vacuous_condition(inspection: Inspection) -> list[Finding]:
    """A finding where a condition decides nothing: `name = 'Noone'` where nobody is called so.

    Each condition of the evidence has one of these effects:
    absent: `value` does not occur in the column; `near` says what differs only in case or space;
    no_row, every_row: no row of the table meets the condition, or every one does;
    null: a comparison with NULL, which never holds;
    itself: a column is compared with itself.
    A table without a row says nothing about a condition.
    """
    reading = read_query(inspection)
    conditions: list[dict[str, Any]] = []
    judged: set[int] = set()  # the two comparisons of a BETWEEN are one condition
    for comparison in reading.comparisons:
        is_between = isinstance(comparison.node, exp.Between)
        if is_between and id(comparison.node) in judged:
            continue
        judged.add(id(comparison.node))
        found = _judge(comparison, reading)
        if found is not None:
            conditions.append({"condition": comparison.text} | found)
    if not conditions:
        return []
    return [Finding(Flag.VACUOUS_CONDITION, {"conditions": conditions[:_CONDITIONS_SHOWN]})]


def _judge(comparison: Comparison, reading: Reading) -> dict[str, Any] | None:
    node, operator = comparison.node, comparison.operator
    if isinstance(comparison.right, exp.Null):
        if operator not in ("IS", "IS NOT"):
            return {"effect": "null"}
        if operator == "IS NOT" or isinstance(node.parent, exp.Not):
            return None  # written to be safe, as a rule
    elif _is_same_column(comparison, reading):
        return {"effect": "itself"}
    elif isinstance(comparison.right, exp.Boolean) or not reading.is_literal(comparison.right):
        return None
    subject = _find_subject(comparison.left, reading)
    if subject is None or not reading.values.has_row(subject.table):
        return None
    if isinstance(comparison.right, exp.Null):
        if not subject.has_all_rows:  # an outer join makes NULLs that the table does not hold
            return None
        return _find_extent(f"{subject.sql} IS NULL", subject, reading, may_be_every=False)
    literal = reading.literal_sql(comparison.right)
    if isinstance(node, exp.Between):
        bounds = [node.args["low"].unnest(), node.args["high"].unnest()]
        if not all(map(reading.is_literal, bounds)) or node.this.unnest() is not comparison.left:
            return None
        low, high = map(reading.literal_sql, bounds)
        return _find_extent(f"{subject.sql} BETWEEN {low} AND {high}", subject, reading)
    if operator in RANGES:
        return _find_extent(f"{subject.sql} {operator} {literal}", subject, reading)
    if operator in PATTERNS:
        if isinstance(node.parent, exp.Escape):
            literal += f" ESCAPE {reading.literal_sql(node.parent.expression)}"
        return _find_extent(f"{subject.sql} {operator} {literal}", subject, reading)
    return _find_absent(comparison, subject, literal, reading)


def _find_subject(expression: exp.Expression, reading: Reading) -> _Subject | None:
    """A column, or what is computed from columns of one table and nothing else."""
    base = reading.base_column(expression)
    if base is not None:
        found = reading.resolve(expression)
        has_all_rows = found.is_direct and not _has_outer_join(found.scope.select)
        table = base[0].name
        return _Subject(quote_name(base[1].name), table, quote_name(table), True, has_all_rows)
    columns = list(expression.find_all(exp.Column))
    if not columns or expression.find(*_NOT_A_ROW_EXPRESSION) is not None:
        return None
    found = None
    for column in columns:
        resolution = reading.resolve(column)
        if resolution is None:
            if reading.is_string(column):
                continue
            return None
        if not resolution.is_direct or resolution.column is None:
            return None
        if found is not None and resolution.source is not found.source:
            return None
        found = resolution
    if found is None:
        return None
    table = found.table.name
    from_sql = f"{quote_name(table)} AS {quote_name(found.source.name)}"
    has_all_rows = not _has_outer_join(found.scope.select)
    return _Subject(f"({to_sql(expression)})", table, from_sql, False, has_all_rows)


def _find_extent(
    condition: str, subject: _Subject, reading: Reading, *, may_be_every: bool = True
) -> dict[str, Any] | None:
    counts = reading.values.ask(
        f"SELECT count(*), count(CASE WHEN {condition} THEN 1 END) FROM {subject.from_sql}"
    )
    if counts is None:
        return None
    rows, met = counts[0]
    if met == 0:
        return {"effect": "no_row", "rows": rows}
    if met == rows and may_be_every and subject.has_all_rows:
        return {"effect": "every_row", "rows": rows}
    return None


def _find_absent(
    comparison: Comparison, subject: _Subject, literal: str, reading: Reading
) -> dict[str, Any] | None:
    found = reading.values.ask(
        f"SELECT 1 FROM {subject.from_sql} WHERE {subject.sql} = {literal} LIMIT 1"
    )
    if found is None or found:
        return None
    near: list[object] = []
    if reading.is_string(comparison.right) and subject.is_column:
        folded = quote_text(comparison.right.name.replace(" ", ""))
        near = reading.values.ask_column(
            f"SELECT DISTINCT {subject.sql} FROM {subject.from_sql}"
            f" WHERE lower(replace({subject.sql}, ' ', '')) = lower({folded}) ORDER BY 1 LIMIT 3"
        )
    value = comparison.right.name if reading.is_string(comparison.right) else literal
    return {"effect": "absent", "value": value[:200], "near": near}


def _is_same_column(comparison: Comparison, reading: Reading) -> bool:
    left, right = reading.resolve(comparison.left), reading.resolve(comparison.right)
    if left is None or right is None or left.source is None or left.column is None:
        return False
    return left.source is right.source and left.column is right.column


def _has_outer_join(select: exp.Select) -> bool:
    return any(join.side for join in select.args.get("joins") or ())
