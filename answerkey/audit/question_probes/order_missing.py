"""order_missing: the question asks for an order that the query does not make."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.audit.siblings import find_named_sibling
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.measures import split_name
from answerkey.english.question import Question
from answerkey.english.sort_requests import find_sort_request
from answerkey.english.superlatives import find_superlatives
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import affinity

_ORDERS = frozenset({"order", "orders", "ordered"})


def find_order_missing(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where the question asks for an order that the query does not make.

    The evidence has `kind`: none (sorted, and no ORDER BY), no_extreme (a superlative, and neither
    ORDER BY nor min nor max), numbers (alphabetical, by a column of numbers), column (the question
    names another column to sort by).
    """
    found = (
        _find_no_order(inspection, question)
        or _find_no_extreme(inspection, question)
        or _find_other_column(inspection, question)
    )
    return [Finding(Flag.ORDER_MISSING, found)] if found else []


def _find_no_order(inspection: Inspection, question: Question) -> dict[str, Any] | None:
    request = find_sort_request(question)
    if request is None:
        return None
    orders = inspection.scopes.nodes.find_all(exp.Order)
    if not orders and request.text.startswith("order") and _has_orders(inspection):
        return None  # the customers ordered them
    if not orders:
        return {"kind": "none", "asked": request.text}
    terms = orders[0].expressions
    if request.by_letters and not request.directions and len(terms) == 1:
        column = terms[0].this.unnest()
        found = inspection.scopes.resolve(column) if isinstance(column, exp.Column) else None
        is_number = isinstance(column, exp.AggFunc) or (
            found is not None and found.column is not None
            and affinity(found.column.type) in ("INTEGER", "REAL", "NUMERIC")
            and not found.column.type.upper().startswith("DATE")
        )  # fmt: skip
        if is_number:
            return {"kind": "numbers", "asked": request.text, "sql": to_sql(orders[0])[:200]}
    return None


def _has_orders(inspection: Inspection) -> bool:
    """Whether the database is one of things that are ordered."""
    names = [table.name for table in inspection.schema.tables]
    names += [column.name for table in inspection.schema.tables for column in table.columns]
    return any(not _ORDERS.isdisjoint(split_name(name)) for name in names)


def _find_no_extreme(inspection: Inspection, question: Question) -> dict[str, Any] | None:
    superlatives = find_superlatives(question)
    nodes = inspection.scopes.nodes
    if not superlatives or nodes.find_all(exp.Order, exp.Min, exp.Max, exp.Window):
        return None
    spelt = " ".join(
        node.name.lower() for node in nodes.find_all(exp.Column, exp.Literal, exp.Table)
    )
    asked = [one for one in superlatives if one.text.split()[0][:3] not in spelt]
    if len(asked) != len(superlatives):
        return None
    return {"kind": "no_extreme", "asked": asked[0].text}


def _find_other_column(inspection: Inspection, question: Question) -> dict[str, Any] | None:
    for order in inspection.scopes.nodes.find_all(exp.Order):
        for column in order.find_all(exp.Column):
            found = find_named_sibling(column, inspection, question)
            if found is not None:
                return {"kind": "column", "asked": found, "sql": to_sql(order)[:200]}
    return None
