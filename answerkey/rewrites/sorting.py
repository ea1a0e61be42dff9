"""The order of rows: none, or from the other end."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, find_user, replaced, reverse
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


def _list_orders(scopes: Scopes) -> Iterator[tuple[exp.Order, exp.Query]]:
    """Each ORDER BY that decides the order of the answer, or the rows that LIMIT keeps, and its
    query."""
    for order in scopes.nodes.find_all(exp.Order):
        query = order.parent
        if not isinstance(query, exp.Query):
            continue  # the order of a window
        if query.args.get("limit") is not None or find_user(query) is None:
            yield order, query
