"""Rows of a SELECT: who uses them, and whether equal ones count, or can be."""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.names import find_direct, list_key

_WRAPPERS = (exp.Subquery, exp.Paren)


def find_user(query: exp.Expression) -> exp.Expression | None:
    """What uses a query's rows: the node around it and its parentheses; None at the top."""
    node = query.parent
    while isinstance(node, _WRAPPERS):
        node = node.parent
    return node


def is_top(query: exp.Expression) -> bool:
    """Whether a query is the whole statement."""
    return find_user(query) is None


def is_counted_once(query: exp.Expression) -> bool:
    """Whether equal rows of a query count as one where they are used: in IN and EXISTS, and in set
    operations but UNION ALL."""
    user = find_user(query)
    if isinstance(user, exp.SetOperation):
        return bool(user.args.get("distinct")) or is_counted_once(user)
    return isinstance(user, exp.In | exp.Exists)


def is_asked_for_rows(node: exp.Expression) -> bool:
    """Whether a node stands in the select list of EXISTS, where it does not matter."""
    select = node.find_ancestor(exp.Select)
    while select is not None:
        if isinstance(find_user(select), exp.Exists) and _is_shown(node, select):
            return True
        node, select = select, select.find_ancestor(exp.Select)
    return False


def _is_shown(node: exp.Expression, select: exp.Select) -> bool:
    while node.parent is not select and node.parent is not None:
        node = node.parent
    return node.arg_key == "expressions"


def has_unique_rows(select: exp.Select, scopes: Scopes) -> bool:
    """Whether no two rows of a SELECT can be equal: there is one row, or it shows all keys of its
    GROUP BY, or the key of its only table."""
    shown = [column.unalias().unnest() for column in select.expressions]
    group = select.args.get("group")
    if group is not None:
        texts = {to_sql(column).lower() for column in shown}
        return all(to_sql(key).lower() in texts for key in group.expressions)
    if any(isinstance(column, exp.AggFunc) for column in shown):
        return True
    sources = list(scopes.scope_of(select).sources.values())
    if len(sources) != 1 or sources[0].table is None:
        return False
    found = [find_direct(column, scopes) for column in shown]
    names = {what.column.name for what in found if what is not None}
    key = list_key(sources[0].table)
    return bool(key) and names.issuperset(key)
