"""Groups: GROUP BY without one of its keys, or without all.

`GROUP BY a, b` -> `GROUP BY b`, `GROUP BY a`; another key in the place of one is in columns.py, and
HAVING in connectors.py.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import read_integer
from answerkey.sql.query_rewrites import make_limit
from answerkey.sql.scopes import Scopes
from answerkey.suites.operators.trees import Steps, changed, is_top, without


def mutate_groups(scopes: Scopes) -> Steps:
    """group_key_removed; of the only key group_removed, if no HAVING needs it, nor ORDER BY."""
    for group in scopes.nodes.find_all(exp.Group):
        keys, select = group.expressions, group.parent
        if len(keys) > 1:
            for place in range(len(keys)):
                with changed(group, expressions=without(keys, place)):
                    yield "group_key_removed"
        elif select.args.get("having") is None and _is_aggregated(select):
            with changed(select, group=None):
                yield "group_removed"


def _is_aggregated(select: exp.Select) -> bool:
    return select.args.get("order") is None or any(
        shown.find(exp.AggFunc) is not None for shown in select.expressions
    )


# Order: the other direction, a key less, more or fewer rows.
#
# `ORDER BY a DESC LIMIT 2` -> `ORDER BY a LIMIT 2`, `ORDER BY a DESC LIMIT 3`, `ORDER BY a DESC`,
# `LIMIT 2`, neither


def mutate_order(scopes: Scopes) -> Steps:
    """direction, sort_key_removed, order_removed, limit (one more, one less), limit_removed,
    limit_added, order_and_limit_removed, offset.

    The order of a subquery's rows counts only where its LIMIT cuts them.
    """
    for order in scopes.nodes.find_all(exp.Order):
        query = order.parent
        is_query = isinstance(query, exp.Query)
        limit = query.args.get("limit") if is_query else None
        if is_query and limit is None and not is_top(query):
            continue
        yield from _mutate_keys(order)
        if is_query:
            with changed(query, order=None):
                yield "order_removed"
            if limit is None:
                with changed(query, limit=make_limit(1)):
                    yield "limit_added"
            else:
                with changed(query, order=None, limit=None, offset=None):
                    yield "order_and_limit_removed"
    for limit in scopes.nodes.find_all(exp.Limit):
        yield from _mutate_limit(limit)


def _mutate_keys(order: exp.Order) -> Steps:
    keys = order.expressions
    for place, key in enumerate(keys):
        is_descending, is_first = key.args.get("desc"), key.args.get("nulls_first")
        with changed(key, desc=not is_descending or None, nulls_first=not is_first):
            yield "direction"
        if len(keys) > 1:
            with changed(order, expressions=without(keys, place)):
                yield "sort_key_removed"


def _mutate_limit(limit: exp.Limit) -> Steps:
    query = limit.parent
    rows = read_integer(limit.expression)
    for other in (rows + 1, rows - 1) if rows is not None else ():
        if other > 0:
            with changed(query, limit=make_limit(other)):
                yield "limit"
    with changed(query, limit=None, offset=None):
        yield "limit_removed"
    offset = query.args.get("offset")
    skipped = read_integer(offset.expression) if offset is not None else None
    if skipped is not None:
        for other in (skipped + 1, skipped - 1):
            number = exp.Offset(expression=exp.Literal.number(other)) if other > 0 else None
            with changed(query, offset=number):
                yield "offset"


# Windows: another rank function, or all rows as one partition.
#
# `rank() OVER (PARTITION BY a ORDER BY b)` -> `dense_rank() ...`, `rank() OVER (ORDER BY b)`


_RANKS = (exp.Rank, exp.DenseRank, exp.RowNumber)


def mutate_windows(scopes: Scopes) -> Steps:
    """window_function, partition_removed."""
    for node in scopes.nodes.find_all(exp.Window):
        if isinstance(node.this, _RANKS):
            for kind in _RANKS:
                if not isinstance(node.this, kind):
                    with changed(node, this=kind()):
                        yield "window_function"
        if node.args.get("partition_by"):
            with changed(node, partition_by=None):
                yield "partition_removed"
