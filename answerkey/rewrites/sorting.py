"""The order of rows: none, or from the other end."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, find_user, replaced, reverse
from answerkey.sql.query_tree import to_sql
from answerkey.sql.scopes import Scopes


def drop_orders(scopes: Scopes) -> Steps:
    """Yield `order_dropped`: `SELECT a FROM t ORDER BY b LIMIT 1` -> `SELECT a FROM t LIMIT 1`."""
    for _, query in _list_orders(scopes):
        with changed(query, order=None):
            yield "order_dropped"


def reverse_orders(scopes: Scopes) -> Steps:
    """Yield `order_reversed`: `ORDER BY b, c DESC` -> `ORDER BY b DESC, c`."""
    for order, _ in _list_orders(scopes):
        with replaced(order, exp.Order(expressions=[reverse(term) for term in order.expressions])):
            yield "order_reversed"


def sort_groups(select: exp.Select, keys: list[exp.Expr]) -> exp.Order | None:
    """Return the ORDER BY of a SELECT for groups of its rows, where an engine refuses to sort them
    by what is not grouped: each of them by its first row.

    `ORDER BY a, b DESC` for groups by a -> `ORDER BY a, MAX(b) DESC`
    """
    order = select.args.get("order")
    if order is None:
        return None
    names = {to_sql(key).lower() for key in keys}
    names |= {output.alias.lower() for output in select.expressions if output.alias}
    terms = []
    for term in order.copy().expressions:
        is_grouped = to_sql(term.this).lower() in names or term.this.find(exp.AggFunc) is not None
        if not is_grouped and term.this.find(exp.Column) is not None:
            extreme = exp.Max if term.args.get("desc") else exp.Min
            term.set("this", extreme(this=term.this.copy()))
        terms.append(term)
    return exp.Order(expressions=terms)


def _list_orders(scopes: Scopes) -> Iterator[tuple[exp.Order, exp.Query]]:
    """Each ORDER BY that decides the order of the answer, or the rows that LIMIT keeps, and its
    query."""
    for order in scopes.nodes.find_all(exp.Order):
        query = order.parent
        if not isinstance(query, exp.Query):
            continue  # the order of a window
        if query.args.get("limit") is not None or find_user(query) is None:
            yield order, query
