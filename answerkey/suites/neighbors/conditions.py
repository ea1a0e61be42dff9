"""Conditions of a query: what AND and OR join in WHERE, HAVING and ON."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.sql.scopes import Scopes

CONNECTORS = (exp.And, exp.Or)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def list_roots(scopes: Scopes) -> Iterator[exp.Expression]:
    """The whole condition of each WHERE, HAVING and ON."""
    for clause in scopes.nodes.find_all(exp.Where, exp.Having):
        yield clause.this
    for join in scopes.nodes.find_all(exp.Join):
        if join.args.get("on") is not None:
            yield join.args["on"]


def list_parts(node: exp.Expression, kind: type[exp.Connector]) -> list[exp.Expression]:
    """What the ANDs (or ORs) at the top of a condition join, from left to right."""
    inner = node.unnest()
    if type(inner) is not kind:
        return [node]
    return list_parts(inner.this, kind) + list_parts(inner.expression, kind)


def list_leaves(node: exp.Expression) -> list[exp.Expression]:
    """The conditions that hold neither AND nor OR, from left to right."""
    inner = node.unnest()
    if not isinstance(inner, CONNECTORS):
        return [inner]
    return list_leaves(inner.this) + list_leaves(inner.expression)


def join_parts(kind: type[exp.Connector], parts: list[exp.Expression]) -> exp.Expression:
    """The parts, joined by AND (or OR) from the left."""
    joined = parts[0]
    for part in parts[1:]:
        joined = kind(this=joined, expression=part)
    return joined


def add_condition(
    select: exp.Expression, clause: str, condition: exp.Expression
) -> exp.Where | exp.Having:
    """The WHERE or HAVING of a SELECT with one more condition."""
    own = select.args.get(clause)
    if own is not None:
        before = own.this.copy()
        before = exp.Paren(this=before) if isinstance(before, exp.Or) else before
        condition = exp.And(this=before, expression=condition)
    return exp.Where(this=condition) if clause == "where" else exp.Having(this=condition)


def is_join_condition(node: exp.Expression, scopes: Scopes) -> bool:
    """Whether a condition is about several members of one FROM.

    Without it, or with its opposite, every row meets every other: any database tells that from the
    gold, and it takes long.
    """
    sources: dict[int, set[int]] = {}
    for column in node.find_all(exp.Column):
        found = scopes.resolve(column)
        if found is not None and found.source is not None:
            sources.setdefault(id(found.scope), set()).add(id(found.source))
    return any(len(found) > 1 for found in sources.values())


def is_condition(node: exp.Expression) -> bool:
    """Whether a node is a whole condition, or a part that AND, OR or NOT takes."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Not):
        parent = parent.parent
    return isinstance(parent, exp.Where | exp.Having | exp.Join | exp.And | exp.Or)
