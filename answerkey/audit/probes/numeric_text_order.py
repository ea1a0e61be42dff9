"""numeric_text_order: numbers stored as text are sorted or compared as text.

`SELECT name FROM ship ORDER BY weight DESC LIMIT 1` over the texts '95' and '1200':
'95' is the greater text.
"""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import show_rows
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import copy_with, is_same_statement, to_sql, unwrap
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import QueryError, Row, Value
from answerkey.sqlite.schema import Column, Table, affinity, quote_name

_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
_GROUPED_NUMBER = re.compile(r"\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\s*", re.ASCII)
_COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
_ENOUGH_NUMBERS = 0.9
_FIRST_LOOK_ROWS = 20
_MOST_VALUES = 2000


def find_numeric_text_order(inspection: Inspection) -> list[Finding]:
    """A finding where a sort, a comparison by < or >, or a min() or max() over text that is mostly
    numbers gives another answer than over the numbers."""
    scopes = inspection.scopes
    for node in scopes.nodes.find_all(exp.Ordered, exp.Min, exp.Max, exp.Between, *_COMPARISONS):
        for column in _ordered_columns(node):
            found = scopes.resolve(column)
            if found is None or found.column is None:
                continue
            if affinity(found.column.type) not in ("TEXT", "BLOB"):
                continue
            if isinstance(node, exp.Between | exp.Binary) and not _compares_text(node, scopes):
                continue
            try:
                share = _share_of_numbers(inspection, found.table, found.column)
                if share < _ENOUGH_NUMBERS:
                    continue
                other = _answer_by_number(inspection, node, column)
            except QueryError:
                continue
            if other is not None:
                evidence: dict[str, Any] = {
                    "column": f"{found.table.name}.{found.column.name}",
                    "where": to_sql(node)[:200],
                    "share_of_numbers": round(share, 3),
                    "answer": show_rows(inspection.rows),
                    "answer_by_number": show_rows(other),
                }
                return [Finding(Flag.NUMERIC_TEXT_ORDER, evidence)]
    return []


def looks_like_number(text: str) -> bool:
    """Whether a text is a number as people write them.

    >>> [looks_like_number(text) for text in ("12", "-3.5", "1,200", "1e3", "12 kg", "", "1,2")]
    [True, True, True, True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(text) or _GROUPED_NUMBER.fullmatch(text))


def _ordered_columns(node: exp.Expression) -> list[exp.Column]:
    """The columns that an expression puts in order as they are, not computed with."""
    if isinstance(node, exp.Between):
        operands = [node.this, node.args["low"], node.args["high"]]
    elif isinstance(node, exp.Binary):
        operands = [node.this, node.expression]
    else:
        operands = [node.this]
    columns = []
    for operand in operands:
        inner = operand.unnest()
        while isinstance(inner, exp.Collate | exp.Distinct):
            inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner.this
        if isinstance(inner, exp.Column):
            columns.append(inner)
    return columns


def _compares_text(node: exp.Expression, scopes: Scopes) -> bool:
    """Whether SQLite compares as text: no side has a numeric affinity.

    Source: section 4.2 of the SQLite manual's page on datatypes.
    """
    for operand in node.iter_expressions():
        inner = operand.unnest()
        if isinstance(inner, exp.Cast):
            kind = affinity(to_sql(inner.to))
        elif isinstance(inner, exp.Column):
            found = scopes.resolve(inner)
            kind = affinity(found.column.type) if found and found.column else "BLOB"
        else:
            continue
        if kind in ("INTEGER", "REAL", "NUMERIC"):
            return False
    return True


def _share_of_numbers(inspection: Inspection, table: Table, column: Column) -> float:
    """The share of a column's distinct texts, empty ones aside, that look like numbers."""
    name, source = quote_name(column.name), quote_name(table.name)
    condition = f"typeof({name}) = 'text' AND {name} <> ''"
    for limited in (
        f"SELECT {name} FROM {source} WHERE {condition} LIMIT {_FIRST_LOOK_ROWS}",
        f"SELECT DISTINCT {name} FROM {source} WHERE {condition} LIMIT {_MOST_VALUES}",
    ):
        values = [row[0] for row in inspection.database.execute(limited)]
        share = sum(map(looks_like_number, values)) / len(values) if values else 0.0
        if share < _ENOUGH_NUMBERS / 2:
            return share
    return share


def _answer_by_number(
    inspection: Inspection, node: exp.Expression, column: exp.Column
) -> list[Row] | None:
    """The rows of the query with this column read as numbers in this place, if they differ."""
    is_ordered = unwrap(inspection.tree).args.get("order") is not None
    answer, rel_tol = shape_answer(_read_numbers(inspection.rows)), inspection.thresholds.rel_tol

    def is_same(rows: list[Row]) -> bool:
        other = shape_answer(_read_numbers(rows))
        return answers_match(answer, other, ordered=is_ordered, rel_tol=rel_tol)

    again = to_sql(inspection.tree)
    if not is_same_statement(again, inspection.sql) and not is_same(
        inspection.database.execute(again)
    ):
        return None  # the rewriting itself changes the answer: nothing can be concluded
    copy, twins = copy_with(inspection.tree, [node, column])
    _read_as_number(*twins)
    rows = inspection.database.execute(to_sql(copy))
    return None if is_same(rows) else rows


def _read_as_number(node: exp.Expression, column: exp.Column) -> None:
    """Make an expression order a column by its numbers. An extreme still returns the text, so that
    what it is compared with means the same: the number is put before the text for max() to see,
    fixed in width and moved above zero."""
    name = to_sql(column)
    number = f"replace({name}, ',', '')"
    if isinstance(node, exp.Min | exp.Max):
        function = "max" if isinstance(node, exp.Max) else "min"
        sortable = f"printf('%032.6f', CAST({number} AS REAL) + 1e12) || {name}"
        chosen = exp.maybe_parse(f"substr({function}({sortable}), 33)", dialect="sqlite")
        is_whole = isinstance(node.parent, exp.Select)
        node.replace(exp.alias_(chosen, to_sql(node), quoted=True) if is_whole else chosen)
    else:
        column.replace(exp.maybe_parse(f"CAST({number} AS NUMERIC)", dialect="sqlite"))


def _read_numbers(rows: list[Row]) -> list[Row]:
    """Rows in which text that is a number is that number: '90' and 90.0 are the same value."""
    return [tuple(map(_read_number, row)) for row in rows]


def _read_number(value: Value) -> Value:
    if isinstance(value, int):
        return float(value)
    if isinstance(value, str) and looks_like_number(value):
        return float(value.replace(",", ""))
    return value
