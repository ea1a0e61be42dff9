"""Set operations: another one, the sides of EXCEPT swapped, one side alone, one SELECT for both.

`A EXCEPT B` -> `B EXCEPT A`, `A INTERSECT B`, `A UNION B`, `A`, `B`;
`SELECT a FROM t WHERE p INTERSECT SELECT a FROM t WHERE q` -> `SELECT a FROM t WHERE p AND q`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced

_OTHERS = {
    exp.Union: (exp.Intersect, exp.Except),
    exp.Intersect: (exp.Union, exp.Except),
    exp.Except: (exp.Intersect, exp.Union),
}
_SIMPLE = ("group", "having", "limit", "order", "with_")


def mutate_set_operations(scopes: Scopes) -> Steps:
    """set_operation, set_sides_swapped, set_side_removed, set_operation_as_condition."""
    for node in scopes.nodes.find_all(*_OTHERS):
        with_ = node.args.get("with_")
        for kind in _OTHERS[type(node)]:
            other = kind(**{**_copy_args(node), "distinct": True})
            with replaced(node, other):
                yield "set_operation"
        if isinstance(node, exp.Union):
            with changed(node, distinct=not node.args.get("distinct")):
                yield "set_operation"
        left, right = node.this, node.expression
        if isinstance(node, exp.Except) and not _is_compound(left):
            with changed(node, this=right.copy(), expression=left.copy()):
                yield "set_sides_swapped"
        if with_ is None:
            for side in (left, right):
                with replaced(node, side.copy()):
                    yield "set_side_removed"
        yield from _merge(node, left, right)


def _copy_args(node: exp.Expression) -> dict[str, object]:
    return dict(node.copy().args)


def _is_compound(node: exp.Expression) -> bool:
    return isinstance(node, exp.SetOperation)


def _merge(node: exp.Expression, left: exp.Expression, right: exp.Expression) -> Steps:
    """One SELECT with both conditions, where the sides differ by these alone."""
    if node.args.get("order") or node.args.get("limit") or node.args.get("with_"):
        return
    sides = []
    for side in (left, right):
        if not isinstance(side, exp.Select) or any(side.args.get(name) for name in _SIMPLE):
            return
        if side.args.get("where") is None:
            return
        with changed(side, where=None):
            sides.append(to_sql(side))
    if sides[0].lower() != sides[1].lower():
        return
    parts = [exp.Paren(this=side.args["where"].this.copy()) for side in (left, right)]
    if isinstance(node, exp.Except):
        parts[1] = exp.Not(this=parts[1])
    kind = exp.Or if isinstance(node, exp.Union) else exp.And
    merged = left.copy()
    merged.set("where", exp.Where(this=kind(this=parts[0], expression=parts[1])))
    with replaced(node, merged):
        yield "set_operation_as_condition"
