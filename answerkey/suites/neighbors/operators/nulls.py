"""NULL: rows without a value are taken in, or left out.

`a IS NULL` -> `NOT a IS NULL`, `a = ''`; `a <> 1` -> `(a <> 1 OR a IS NULL)`;
`SELECT a FROM t` -> `SELECT a FROM t WHERE NOT a IS NULL`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced
from answerkey.suites.neighbors.conditions import COMPARISONS, is_condition, is_join_condition
from answerkey.suites.neighbors.names import find_direct, is_nullable
from answerkey.suites.neighbors.queries import is_asked_for_rows

_TESTS = (*COMPARISONS, exp.In, exp.Like, exp.Between)


def mutate_nulls(scopes: Scopes) -> Steps:
    """null_test: IS NULL and its opposite; null_as_empty_text; null_included in a condition on a
    column that may be NULL; null_excluded from the first such column that is shown."""
    for node in scopes.nodes.find_all(exp.Is):
        if isinstance(node.expression, exp.Null):
            yield from _mutate_test(node)
    for node in scopes.nodes.find_all(*_TESTS):
        found = find_direct(node.this, scopes)
        if found is None or not is_nullable(found.column) or is_join_condition(node, scopes):
            continue
        top = node.parent if isinstance(node.parent, exp.Not) else node
        if is_condition(top):
            either = exp.Or(this=top.copy(), expression=_is_null(node.this))
            with replaced(top, exp.Paren(this=either)):
                yield "null_included"
    for scope in scopes.select_scopes():
        yield from _exclude(scope.select, scopes)


def _mutate_test(node: exp.Is) -> Steps:
    empty = exp.Literal.string("")
    if isinstance(node.parent, exp.Not):
        with replaced(node.parent, node.copy()):
            yield "null_test"
        with replaced(node.parent, exp.NEQ(this=node.this.copy(), expression=empty)):
            yield "null_as_empty_text"
    else:
        with replaced(node, exp.Not(this=node.copy())):
            yield "null_test"
        with replaced(node, exp.EQ(this=node.this.copy(), expression=empty)):
            yield "null_as_empty_text"


def _exclude(select: exp.Select, scopes: Scopes) -> Steps:
    where = select.args.get("where")
    for shown in select.expressions:
        node = shown.unalias()
        found = find_direct(node, scopes)
        if found is None or not is_nullable(found.column) or is_asked_for_rows(node):
            continue
        condition: exp.Expression = exp.Not(this=_is_null(node))
        if where is not None:
            before = where.this.copy()
            if isinstance(before, exp.Or):
                before = exp.Paren(this=before)
            condition = exp.And(this=before, expression=condition)
        with changed(select, where=exp.Where(this=condition)):
            yield "null_excluded"
        return


def _is_null(node: exp.Expression) -> exp.Is:
    return exp.Is(this=node.copy(), expression=exp.Null())
