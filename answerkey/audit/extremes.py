"""Extremes: where a query takes the least or the most of something, by ORDER BY ... LIMIT, min or
max."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.english.measures import read_measure
from answerkey.english.superlatives import LEAST, MOST
from answerkey.sql.query_rewrites import to_sql


@dataclass(frozen=True, slots=True)
class Extreme:
    """One place where a query takes an extreme.

    pole: LEAST or MOST. measure: what the column's name says of it (answerkey.english.measures).
    names: the columns in it, in small letters. has_limit: False for an ORDER BY of all rows.
    """

    text: str
    pole: str
    measure: str | None
    names: tuple[str, ...]
    has_limit: bool


def list_extremes(inspection: Inspection) -> list[Extreme]:
    """The extremes of a query: the first term of each ORDER BY ... LIMIT, and each min and max that
    stands in no ORDER BY."""
    found = []
    for order in inspection.scopes.nodes.find_all(exp.Order):
        query = order.parent
        if isinstance(query, exp.Query) and query.args.get("limit") is not None:
            found.append(_read_term(order.expressions[0], inspection, has_limit=True))
    for node in inspection.scopes.nodes.find_all(exp.Min, exp.Max):
        if node.expressions or node.find_ancestor(exp.Order) is not None:
            continue
        pole = LEAST if isinstance(node, exp.Min) else MOST
        names, measure = read_expression(node.this, inspection)
        found.append(Extreme(to_sql(node), pole, measure, names, True))
    return found


def list_sort_terms(inspection: Inspection) -> list[Extreme]:
    """The terms of the ORDER BY of the whole query."""
    order = inspection.tree.args.get("order")
    has_limit = inspection.tree.args.get("limit") is not None
    terms = order.expressions if order is not None else ()
    return [_read_term(term, inspection, has_limit=has_limit) for term in terms]


def _read_term(term: exp.Expression, inspection: Inspection, *, has_limit: bool) -> Extreme:
    names, measure = read_expression(term.this, inspection)
    pole = MOST if term.args.get("desc") else LEAST
    return Extreme(f"ORDER BY {to_sql(term)}", pole, measure, names, has_limit)


def read_expression(
    expression: exp.Expression, inspection: Inspection
) -> tuple[tuple[str, ...], str | None]:
    """The names of the columns in an expression, and what it measures where it is one column, as it
    stands or in an aggregate other than count."""
    columns = list(expression.find_all(exp.Column))
    names = tuple(column.name.lower() for column in columns)
    if len(columns) != 1 or expression.find(exp.Count, exp.Binary) is not None:
        return names, None
    found = inspection.scopes.resolve(columns[0])
    if found is None or found.column is None:
        return names, None
    return (found.column.name.lower(),), read_measure(found.column.name, found.column.type)
