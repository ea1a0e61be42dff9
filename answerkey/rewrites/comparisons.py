"""Comparisons: by another operator, and ranges without one of their ends."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, replaced
from answerkey.sql.conditions import is_join_condition
from answerkey.sql.scopes import Scopes

_OTHER_OPERATORS = {
    exp.EQ: (exp.NEQ, exp.LTE, exp.GTE),
    exp.NEQ: (exp.EQ, exp.LT, exp.GT),
    exp.LT: (exp.LTE, exp.NEQ, exp.GT),
    exp.LTE: (exp.LT, exp.EQ, exp.GTE),
    exp.GT: (exp.GTE, exp.NEQ, exp.LT),
    exp.GTE: (exp.GT, exp.EQ, exp.LTE),
}
_Operator = type[exp.Binary]


def use_other_operator(scopes: Scopes) -> Steps:
    """Yield `comparison`: `a < 1` -> `a <= 1`, `a <> 1`, `a > 1`; not where it joins tables.

    A database that kills the first two kills all others, but for the mirrored one, which models
    write by mistake.

    Source: Kaminski, Ammann and Offutt, "Improving logic-based testing", Journal of Systems and
    Software 86, 2013 (which three mutants of a relational operator make the others redundant).
    """
    for node in scopes.nodes.find_all(*_OTHER_OPERATORS):
        if is_join_condition(node, scopes):
            continue
        for kind in _OTHER_OPERATORS[type(node)]:
            other = kind(this=node.this.copy(), expression=node.expression.copy())
            with replaced(node, other):
                yield "comparison"


def move_range_ends(scopes: Scopes) -> Steps:
    """Yield `range_bound`, one end excluded or left out: `a BETWEEN 1 AND 9` -> `(a > 1 AND a <=
    9)`, `(a >= 1 AND a < 9)`, `(a >= 1)`, `(a <= 9)`."""
    for node in scopes.nodes.find_all(exp.Between):
        for low, high in ((exp.GT, exp.LTE), (exp.GTE, exp.LT), (exp.GTE, None), (None, exp.LTE)):
            with replaced(node, write_range(node, low, high)):
                yield "range_bound"


def write_range(between: exp.Between, low: _Operator | None, high: _Operator | None) -> exp.Paren:
    """Return a BETWEEN as one comparison with each end that has an operator.

    `a BETWEEN 1 AND 9`, `>=`, `<` -> `(a >= 1 AND a < 9)`
    """
    sides = [
        kind(this=between.this.copy(), expression=between.args[bound].copy())
        for kind, bound in ((low, "low"), (high, "high"))
        if kind is not None
    ]
    whole = exp.And(this=sides[0], expression=sides[1]) if len(sides) == 2 else sides[0]
    return exp.Paren(this=whole)
