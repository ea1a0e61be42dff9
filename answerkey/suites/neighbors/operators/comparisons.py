"""Comparisons: another operator between the same two sides.

`a < 1` -> `a <= 1`, `a <> 1`, `a > 1`. A database that tells the first two from the gold tells all
others, but for the mirrored one, which models write by mistake.

Source: Kaminski, Ammann and Offutt, "Improving logic-based testing", Journal of Systems and
Software 86, 2013 (which three mutants of a relational operator stand for the others).
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, replaced
from answerkey.suites.neighbors.conditions import is_join_condition

_OTHERS = {
    exp.EQ: (exp.NEQ, exp.LTE, exp.GTE),
    exp.NEQ: (exp.EQ, exp.LT, exp.GT),
    exp.LT: (exp.LTE, exp.NEQ, exp.GT),
    exp.LTE: (exp.LT, exp.EQ, exp.GTE),
    exp.GT: (exp.GTE, exp.NEQ, exp.LT),
    exp.GTE: (exp.GT, exp.EQ, exp.LTE),
}


def mutate_comparisons(scopes: Scopes) -> Steps:
    """comparison: in place of each operator the others, but not where it joins tables."""
    for node in scopes.nodes.find_all(*_OTHERS):
        if is_join_condition(node, scopes):
            continue
        for kind in _OTHERS[type(node)]:
            other = kind(this=node.this.copy(), expression=node.expression.copy())
            with replaced(node, other):
                yield "comparison"
