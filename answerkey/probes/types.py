"""Probes of types: text that is sorted or compared as something else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from answerkey.base.records import Finding
from answerkey.order.inspection import Inspection
from answerkey.order.ties import show_rows
from answerkey.probes.literals import list_compared_literals
from answerkey.probes.query import Query, read_query
from answerkey.sql.conditions import PATTERNS, RANGES
from answerkey.sql.query_tree import copy_with, show_sql, to_sql, unwrap
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import Value
from answerkey.sqlite.schema import Column, Table, affinity, quote_name

_MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"\s*(?:\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{2,4}}|\d{{1,2}}(?:st|nd|rd|th)?[ -]{_MONTH}"
    rf"|{_MONTH}\.? \d{{1,2}})\b",
    re.IGNORECASE,
)
_VALUES_READ = 20
_VALUES_SHOWN = 3
_NUMBER = re.compile(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
_GROUPED_NUMBER = re.compile(r"\s*[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?\s*", re.ASCII)
_ORDERING = (exp.Ordered, exp.Min, exp.Max, exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NUMERIC = frozenset({"INTEGER", "REAL", "NUMERIC"})
_ENOUGH_NUMBERS = 0.9
_MOST_VALUES = 2000
_TEXTS = (
    *(exp.TimeToStr, exp.Date, exp.Substring, exp.Lower, exp.Upper),
    *(exp.Trim, exp.Replace, exp.DPipe),
)


def is_unsortable_date(value: object) -> bool:
    """Whether a value is a date as text whose order is not that of time.

    >>> [is_unsortable_date(value) for value in ("12/31/2013", "June 4, 2010", "4 Jun 1999")]
    [True, True, True]
    >>> [is_unsortable_date(value) for value in ("2013-12-31", "2010", "12.5", "march", 7)]
    [False, False, False, False, False]
    """
    return isinstance(value, str) and _DATE.match(value) is not None


def find_date_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if all values of a column are such dates, and the query sorts by it, takes
    its MIN or MAX, or asks for greater or less.

    Kinds: `sorted`, `extreme`, `range`.
    """
    query = read_query(inspection)
    for kind, expression in _list_ordered(query):
        base = query.base_column(expression)
        if base is None:
            continue
        name = quote_name(base[1].name)
        rows = query.ask(
            f"SELECT DISTINCT {name} FROM {quote_name(base[0].name)} WHERE {name} IS NOT NULL"
            f" LIMIT {_VALUES_READ}"
        )
        values = [value for (value,) in rows or ()]
        texts = sorted(value for value in values if isinstance(value, str))
        if len(values) > 1 and all(map(is_unsortable_date, values)):
            evidence = {
                "kind": kind,
                "sql": show_sql(expression),
                "values": show_rows([tuple(texts[:_VALUES_SHOWN])])[0],
            }
            return [Finding("date_text_order", evidence)]
    return []


def _list_ordered(query: Query) -> Iterator[tuple[str, exp.Expr]]:
    for node in query.scopes.nodes.find_all(exp.Ordered):
        yield "sorted", node.this.unnest()
    for extreme in query.scopes.nodes.find_all(exp.Min, exp.Max):
        yield "extreme", extreme.this.unnest()
    for comparison in query.comparisons:
        if comparison.operator in RANGES:
            yield "range", comparison.left


def find_numeric_text_order(inspection: Inspection) -> list[Finding]:
    """Return a finding if a sort, a comparison by < or >, or a min() or max() over text that is
    mostly numbers gives another answer than over the numbers: '95' is a greater text than
    '1200'."""
    query = read_query(inspection)
    for node in query.scopes.nodes.find_all(*_ORDERING):
        for column in _list_ordered_columns(node):
            base = query.base_column(column)
            if base is None or affinity(base[1].type) not in ("TEXT", "BLOB"):
                continue
            if isinstance(node, exp.Between | exp.Binary) and not _compares_text(node, query):
                continue
            share = _share_of_numbers(query, *base)
            if share < _ENOUGH_NUMBERS:
                continue
            copy, (twin, twin_column) = copy_with(inspection.tree, [node, column])
            _read_as_number(twin, twin_column)
            answers = _compare_answers(inspection, to_sql(copy))
            if answers:
                evidence = {
                    "column": f"{base[0].name}.{base[1].name}",
                    "where": show_sql(node),
                    "share_of_numbers": round(share, 3),
                }
                return [Finding("numeric_text_order", evidence | answers)]
    return []


def _compare_answers(inspection: Inspection, sql: str) -> dict[str, Any]:
    """The answer and that of a query which reads text as numbers; {} if they are the same where
    text that is a number is that number, or if that query fails."""
    rows = read_query(inspection).ask(sql)
    if rows is None:
        return {}
    is_ordered = unwrap(inspection.tree).args.get("order") is not None
    answer, other = (
        shape_answer([tuple(map(_read_number, row)) for row in side])
        for side in (inspection.rows, rows)
    )
    if answers_match(answer, other, ordered=is_ordered, rel_tol=inspection.rel_tol):
        return {}
    return {"answer": show_rows(inspection.rows), "answer_by_number": show_rows(rows)}


def looks_like_number(text: str) -> bool:
    """Whether a text is a number as people write them.

    >>> [looks_like_number(text) for text in ("12", "-3.5", "1,200", "1e3", "12 kg", "", "1,2")]
    [True, True, True, True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(text) or _GROUPED_NUMBER.fullmatch(text))


def _list_ordered_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns that an expression puts in order as they are, not computed with."""
    for operand in node.iter_expressions():
        inner = operand.unnest()
        while isinstance(inner, exp.Collate | exp.Distinct):
            inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner.this
        if isinstance(inner, exp.Column):
            yield inner


def _compares_text(node: exp.Expr, query: Query) -> bool:
    """Whether SQLite compares as text: no side has a numeric affinity.

    Source: section 4.2 of the SQLite manual's page on datatypes.
    """
    operands = (operand.unnest() for operand in node.iter_expressions())
    return not any(_find_affinity(operand, query) in _NUMERIC for operand in operands)


def _find_affinity(expression: exp.Expr, query: Query) -> str | None:
    if isinstance(expression, exp.Cast):
        return affinity(to_sql(expression.to))
    base = query.base_column(expression)
    return affinity(base[1].type) if base is not None else None


def _share_of_numbers(query: Query, table: Table, column: Column) -> float:
    """The share of a column's distinct texts, empty ones aside, that look like numbers."""
    name = quote_name(column.name)
    rows = query.ask(
        f"SELECT DISTINCT {name} FROM {quote_name(table.name)}"
        f" WHERE typeof({name}) = 'text' AND {name} <> '' LIMIT {_MOST_VALUES}"
    )
    texts = [text for (text,) in rows or () if isinstance(text, str)]
    return sum(map(looks_like_number, texts)) / len(texts) if texts else 0.0


def _read_as_number(node: exp.Expr, column: exp.Expr) -> None:
    """Make an expression order a column by its numbers. An extreme still returns the text, so that
    what it is compared with means the same: the number is put before the text for max() to see,
    fixed in width and moved above zero."""
    name = to_sql(column)
    number = f"replace({name}, ',', '')"
    if isinstance(node, exp.Min | exp.Max):
        function = "max" if isinstance(node, exp.Max) else "min"
        sortable = f"printf('%032.6f', CAST({number} AS REAL) + 1e12) || {name}"
        chosen: exp.Expr = exp.maybe_parse(f"substr({function}({sortable}), 33)", dialect="sqlite")
        is_whole = isinstance(node.parent, exp.Select)
        node.replace(exp.alias_(chosen, to_sql(node), quoted=True) if is_whole else chosen)
    else:
        column.replace(exp.maybe_parse(f"CAST({number} AS NUMERIC)", dialect="sqlite"))


def _read_number(value: Value) -> Value:
    if isinstance(value, int):
        return float(value)
    if isinstance(value, str) and looks_like_number(value):
        return float(value.replace(",", ""))
    return value


def find_type_mismatch(inspection: Inspection) -> list[Finding]:
    """Return a finding if text is compared with a number, and the answer is another where the text
    is read as a number: `strftime('%Y', day) = 2020` never holds, and `code > 30` holds for 'N1'.

    Source: section 4 of the SQLite manual's page on datatypes.
    """
    query = read_query(inspection)
    for literal in inspection.once(list_compared_literals):
        node, left = literal.comparison.node, literal.comparison.left
        if literal.number is None or literal.is_text or literal.comparison.operator in PATTERNS:
            continue
        is_within = any(part is left for part in node.walk())
        if is_within and _may_be_text(left, query):
            copy, (twin,) = copy_with(inspection.tree, [left])
            twin.replace(exp.cast(twin.copy(), "NUMERIC", dialect="sqlite"))
            answers = _compare_answers(inspection, to_sql(copy))
            if answers:
                return [Finding("type_mismatch", {"sql": literal.comparison.text} | answers)]
    return []


def _may_be_text(expression: exp.Expr, query: Query) -> bool:
    base = query.base_column(expression)
    if base is None:
        return isinstance(expression, _TEXTS)
    name, table = quote_name(base[1].name), quote_name(base[0].name)
    return bool(query.ask(f"SELECT 1 FROM {table} WHERE typeof({name}) = 'text' LIMIT 1"))


PROBES = (find_date_text_order, find_numeric_text_order, find_type_mismatch)
