"""Expressions: another arithmetic operator, its sides swapped, a CAST or function left out, the
values of CASE swapped.

`a - b` -> `a + b`, `b - a`; `CAST(a AS REAL) / b` -> `a / b`; `round(a, 1)` -> `a`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced

_OTHERS = {exp.Add: exp.Sub, exp.Sub: exp.Add, exp.Mul: exp.Div, exp.Div: exp.Mul}
_SWAPPED = (exp.Sub, exp.Div)
_WRAPPERS = (exp.Round, exp.Abs, exp.Upper, exp.Lower, exp.Trim, exp.Coalesce)


def mutate_expressions(scopes: Scopes) -> Steps:
    """arithmetic, operands_swapped, cast_removed, function_removed, case_values."""
    for node in scopes.nodes.find_all(*_OTHERS):
        left, right = node.this, node.expression
        with replaced(node, _OTHERS[type(node)](this=left.copy(), expression=right.copy())):
            yield "arithmetic"
        if isinstance(node, _SWAPPED):
            with changed(node, this=_wrap(right), expression=_wrap(left)):
                yield "operands_swapped"
    for node in scopes.nodes.find_all(exp.Cast):
        with replaced(node, _wrap(node.this)):
            yield "cast_removed"
    for node in scopes.nodes.find_all(*_WRAPPERS):
        with replaced(node, _wrap(node.this)):
            yield "function_removed"
    for node in scopes.nodes.find_all(exp.Case):
        yield from _mutate_case(node)
    for node in scopes.nodes.find_all(exp.If):
        other = node.args.get("false")
        if other is not None and not isinstance(node.parent, exp.Case):
            with changed(node, true=other.copy(), false=node.args["true"].copy()):
                yield "case_values"


def _mutate_case(node: exp.Case) -> Steps:
    default, branches = node.args.get("default"), node.args["ifs"]
    if default is None:
        return
    with changed(node, default=None):
        yield "case_values"
    if len(branches) == 1:
        first = branches[0].copy()
        first.set("true", default.copy())
        with changed(node, ifs=[first], default=branches[0].args["true"].copy()):
            yield "case_values"


def _wrap(node: exp.Expression) -> exp.Expression:
    return exp.Paren(this=node.copy()) if isinstance(node, exp.Binary) else node.copy()
