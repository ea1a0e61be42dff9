"""Ranges: BETWEEN without one of its bounds, or without the value of one.

`a BETWEEN 1 AND 9` -> `(a > 1 AND a <= 9)`, `(a >= 1 AND a < 9)`, `a >= 1`, `a <= 9`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, replaced


def mutate_ranges(scopes: Scopes) -> Steps:
    """range_bound: each bound excluded, and each left out."""
    for node in scopes.nodes.find_all(exp.Between):
        for low, high in ((exp.GT, exp.LTE), (exp.GTE, exp.LT), (exp.GTE, None), (None, exp.LTE)):
            sides = [
                kind(this=node.this.copy(), expression=node.args[bound].copy())
                for kind, bound in ((low, "low"), (high, "high"))
                if kind is not None
            ]
            other = exp.And(this=sides[0], expression=sides[1]) if len(sides) == 2 else sides[0]
            with replaced(node, exp.Paren(this=other)):
                yield "range_bound"
