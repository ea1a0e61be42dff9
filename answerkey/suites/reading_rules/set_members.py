"""INTERSECT and EXCEPT of names, or of what has the names.

Reason: "the names of the singers without a concert" means singers, and one of them may have the
name of a singer who has one.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.resolutions import Resolution
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, replaced
from answerkey.suites.neighbors.names import find_direct, is_name, list_key, name_column

_CLAUSES = ("group", "having", "limit", "order", "distinct")


def read_set_members(scopes: Scopes, question_text: str) -> Steps:
    """members_by_key: `A EXCEPT B` of names -> A where the key is not among those of B."""
    node = scopes.tree
    if not isinstance(node, exp.Except | exp.Intersect) or node.args.get("with_") is not None:
        return
    left, right = node.this, node.expression
    found = [_find_members(side, scopes) for side in (left, right)]
    if None in found or found[0].source.table is not found[1].source.table:
        return
    if isinstance(node, exp.Intersect) and not (left.args.get("joins") and right.args.get("joins")):
        return  # no row has two values in one column
    key = list_key(found[0].source.table)
    if len(key) != 1:
        return
    column = found[0].source.table.find_column(key[0])
    own, other = (name_column(column, what.source, what.scope) for what in found)
    inner = right.copy()
    inner.set("expressions", [other])
    test: exp.Expression = exp.In(this=own, query=exp.Subquery(this=inner))
    if isinstance(node, exp.Except):
        test = exp.Not(this=test)
    outer = left.copy()
    where = left.args.get("where")
    if where is not None:
        test = exp.And(this=exp.Paren(this=where.this.copy()), expression=test)
    outer.set("where", exp.Where(this=test))
    for name in ("order", "limit"):
        if node.args.get(name) is not None:
            outer.set(name, node.args[name].copy())
    with replaced(node, outer):
        yield "members_by_key"


def _find_members(side: exp.Expression, scopes: Scopes) -> Resolution | None:
    """The name that a plain SELECT shows, where all that it shows is of one table, and no key."""
    if not isinstance(side, exp.Select) or any(side.args.get(name) for name in _CLAUSES):
        return None
    found = [find_direct(column.unalias(), scopes) for column in side.expressions]
    if None in found or len({id(what.source) for what in found}) != 1:
        return None
    key = list_key(found[0].source.table)
    if {what.column.name for what in found} >= set(key):
        return None
    return next(filter(is_name, found), None)
