"""Connectors: a condition left out, negated, or joined otherwise.

`a = 1 AND b = 2` -> `b = 2`, `a = 1`, `a = 1 OR b = 2`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced, without
from answerkey.suites.neighbors.conditions import (
    CONNECTORS,
    is_join_condition,
    join_parts,
    list_leaves,
    list_parts,
    list_roots,
)

_NEGATED = (exp.In, exp.Like, exp.Glob, exp.Between, exp.Exists)
_CLAUSES = {exp.Where: "where", exp.Having: "having"}


def mutate_connectors(scopes: Scopes) -> Steps:
    """condition_removed, connector (AND and OR), connector_order (parentheses left out), negation
    (NOT IN, NOT LIKE, NOT BETWEEN, NOT EXISTS)."""
    for root in list_roots(scopes):
        for leaf in list_leaves(root):
            if not is_join_condition(leaf, scopes):
                yield from _remove(leaf)
        yield from _connect(root, scopes)
    for node in scopes.nodes.find_all(*_NEGATED):
        negation = node.find_ancestor(exp.Not)
        if negation is not None and negation.this.unnest() is node:
            with replaced(negation, node.copy()):
                yield "negation"
        else:
            other: exp.Expression = exp.Not(this=node.copy())
            if isinstance(node.parent, exp.Binary) and not isinstance(node.parent, CONNECTORS):
                other = exp.Paren(this=other)
            with replaced(node, other):
                yield "negation"


def _remove(leaf: exp.Expression) -> Steps:
    node = leaf
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    parent = node.parent
    if isinstance(parent, CONNECTORS):
        kept = parent.expression if parent.this is node else parent.this
        with replaced(parent, kept.copy()):
            yield "condition_removed"
    elif type(parent) in _CLAUSES:
        with changed(parent.parent, **{_CLAUSES[type(parent)]: None}):
            yield "condition_removed"


def _connect(root: exp.Expression, scopes: Scopes) -> Steps:
    for node in root.find_all(*CONNECTORS):
        kind = type(node)
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if type(parent) is kind:
            continue
        parts = list_parts(node, kind)
        is_free = [not is_join_condition(part, scopes) for part in parts]
        for place in range(len(parts) - 1):
            if is_free[place] and is_free[place + 1]:
                with replaced(node, _swap_connector(kind, parts, place)):
                    yield "connector"
        if kind is exp.And and all(is_free):
            for part in parts:
                if isinstance(part, exp.Paren) and isinstance(part.unnest(), exp.Or):
                    with replaced(part, part.unnest().copy()):
                        yield "connector_order"


def _swap_connector(
    kind: type[exp.Connector], parts: list[exp.Expression], place: int
) -> exp.Expression:
    """The parts, of which the one at a place and the next are joined by the other connector."""
    other = exp.Or if kind is exp.And else exp.And
    pair = other(this=parts[place].copy(), expression=parts[place + 1].copy())
    if len(parts) == 2:
        return exp.Paren(this=pair)
    copies = [part.copy() for part in parts]
    copies[place] = exp.Paren(this=pair)
    return join_parts(kind, without(copies, place + 1))
