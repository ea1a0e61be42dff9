"""Numbers that are put in order as text: sorted, compared by < or >, or taken an extreme of.

'95' is a greater text than '1200'.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.doubts.query import Query, read_query
from answerkey.doubts.text_numbers import (
    compare_answers,
    is_out_of_order,
    share_of_numbers,
    share_of_one_unit,
)
from answerkey.engines.column_types import BLOB, NUMBERS, TEXT, find_kind
from answerkey.order.inspection import Inspection
from answerkey.rewrites.text_values import (
    order_by_number,
    order_by_number_and_unit,
    take_extreme_by_number,
)
from answerkey.rewrites.trees import write_change
from answerkey.sql.query_tree import show_sql, spoken_engine, to_sql

_ORDERING = (exp.Ordered, exp.Min, exp.Max, exp.Between, exp.LT, exp.LTE, exp.GT, exp.GTE)
_MIN_SHARE_OF_NUMBERS = 0.9  # of texts: some say "unknown" among numbers; codes are mostly none
_MAX_TEXTS_READ = 2000  # enough for a share


class TextOrder(NamedTuple):
    """An order of text that is mostly numbers.

    evidence: its kind (`number`, or `unit` for '22.7%' and '4:32'), the column, the expression, and
        the share of numbers.
    answers: the answers by text and by number; empty if they are the same.
    sql: the query that puts numbers in order.
    """

    evidence: dict[str, Any]
    answers: dict[str, Any]
    sql: str


def find_text_order(inspection: Inspection) -> TextOrder | None:
    """Return the first order of text that gives another answer than that of the numbers. If there
    is none, return the first that would give another one on other rows."""
    query = read_query(inspection)
    latent = None
    for node in query.scopes.nodes.find_all(*_ORDERING):
        for column in _list_ordered_columns(node):
            order = _read_order(inspection, node, column)
            if order is not None and order.answers:
                return order
            latent = latent or order
    return latent


def _list_ordered_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns that an expression puts in order as they are, not computed with."""
    for operand in node.iter_expressions():
        inner = operand.unnest()
        while isinstance(inner, exp.Collate | exp.Distinct):
            inner = inner.expressions[0] if isinstance(inner, exp.Distinct) else inner.this
        if isinstance(inner, exp.Column):
            yield inner


def _read_order(inspection: Inspection, node: exp.Expr, column: exp.Column) -> TextOrder | None:
    """Return the order of a column; None if it is not one of numbers as text, or is the same as
    that of the numbers on any rows that look like these."""
    query = read_query(inspection)
    base = query.base_column(column)
    if base is None or find_kind(base[1].type, spoken_engine()) not in (TEXT, BLOB):
        return None
    is_compared = isinstance(node, exp.Between | exp.Binary)
    if is_compared and not _compares_text(node, query):
        return None
    texts = query.list_texts(*base, most=_MAX_TEXTS_READ, condition="{0} <> ''")
    kind, share = "number", share_of_numbers(texts)
    if share < _MIN_SHARE_OF_NUMBERS:
        kind, share = "unit", share_of_one_unit(texts)
        if share < _MIN_SHARE_OF_NUMBERS or is_compared:
            return None
    sql = write_change(query.scopes, _by_number(node, column, has_unit=kind == "unit"))
    evidence = {
        "kind": kind,
        "column": f"{base[0].name}.{base[1].name}",
        "where": show_sql(node),
        "share_of_numbers": round(share, 3),
    }
    answers = compare_answers(inspection, sql)
    if not answers and kind == "number" and not is_out_of_order(texts):
        return None
    return TextOrder(evidence, answers, sql)


def _by_number(
    node: exp.Expr, column: exp.Column, *, has_unit: bool
) -> AbstractContextManager[None]:
    if isinstance(node, exp.Min | exp.Max):
        return take_extreme_by_number(node, column)
    return order_by_number_and_unit(column) if has_unit else order_by_number(column)


def _compares_text(node: exp.Expr, query: Query) -> bool:
    """Return whether the engine compares as text, since no side has a type of numbers.

    Source: section 4.2 of the SQLite manual's page on datatypes.
    """
    operands = (operand.unnest() for operand in node.iter_expressions())
    return not any(_find_kind(operand, query) in NUMBERS for operand in operands)


def _find_kind(expression: exp.Expr, query: Query) -> str | None:
    if isinstance(expression, exp.Cast):
        return find_kind(to_sql(expression.to), spoken_engine())
    base = query.base_column(expression)
    return find_kind(base[1].type, spoken_engine()) if base is not None else None
