"""Features of a query: which parts of SQL it uses, by names that stay the same."""

from __future__ import annotations

from sqlglot import exp

_BY_NODE: dict[type[exp.Expression], str] = {
    exp.Between: "between",
    exp.Case: "case",
    exp.CTE: "cte",
    exp.Distinct: "distinct",
    exp.Except: "except",
    exp.Exists: "exists",
    exp.Group: "group_by",
    exp.Having: "having",
    exp.In: "in",
    exp.Intersect: "intersect",
    exp.Like: "like",
    exp.Limit: "limit",
    exp.Offset: "offset",
    exp.Or: "or",
    exp.Order: "order_by",
    exp.Union: "union",
    exp.Where: "where",
    exp.Window: "window",
}
_AGGREGATES_UNKNOWN_TO_SQLGLOT = {"total", "jsonb_group_array", "jsonb_group_object"}
FEATURES = tuple(
    sorted({*_BY_NODE.values(), "aggregate", "join", "left_join", "nested_query", "null_test"})
)


def list_features(tree: exp.Expression) -> list[str]:
    """The sorted names of what a query uses, anywhere in it.

    >>> from sqlglot import parse_one
    >>> list_features(parse_one("SELECT count(*) FROM a LEFT JOIN b USING (c) WHERE d IS NULL"))
    ['aggregate', 'join', 'left_join', 'null_test', 'where']
    """
    found = set()
    for node in tree.walk():
        kind = type(node)
        if kind in _BY_NODE:
            found.add(_BY_NODE[kind])
        elif kind is exp.Select:
            if _is_nested(node):
                found.add("nested_query")
        elif kind is exp.Join:
            found.add("join")
            if node.side == "LEFT":
                found.add("left_join")
        elif kind is exp.Is and isinstance(node.expression, exp.Null):
            found.add("null_test")
        elif _is_aggregate(node) and not _is_windowed(node):
            found.add("aggregate")
    return sorted(found)


def has_top_level_order(tree: exp.Expression) -> bool:
    """Whether the outermost query has an ORDER BY, so that its rows come as a sequence.

    >>> from sqlglot import parse_one
    >>> has_top_level_order(parse_one("SELECT a FROM (SELECT a FROM t ORDER BY a)"))
    False
    """
    return tree.args.get("order") is not None


def _is_aggregate(node: exp.Expression) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _AGGREGATES_UNKNOWN_TO_SQLGLOT
    return isinstance(node, exp.AggFunc)


def _is_windowed(node: exp.Expression) -> bool:
    if isinstance(node.parent, exp.Filter):  # sum(a) FILTER (WHERE b) OVER ()
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def _is_nested(select: exp.Expression) -> bool:
    """Whether a SELECT stands in an expression or in FROM, not as an arm or a CTE."""
    node = select.parent
    while isinstance(node, exp.SetOperation):
        node = node.parent
    return isinstance(node, exp.Subquery | exp.In | exp.Exists)
