"""Conditions of WHERE, HAVING and ON: one left out, or AND in place of OR."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, replaced, without
from answerkey.sql.conditions import (
    CONNECTORS,
    is_join_condition,
    join_parts,
    list_leaves,
    list_parts,
    list_roots,
)
from answerkey.sql.scopes import Scopes


def drop_conditions(scopes: Scopes) -> Steps:
    """Yield `condition_removed`: `a = 1 AND b = 2` -> `b = 2`, `a = 1`; not where it joins
    tables, nor the only one of FILTER, which has a neighbor of its own."""
    for root in list_roots(scopes):
        for leaf in list_leaves(root):
            if not is_join_condition(leaf, scopes):
                yield from _drop_condition(leaf)


def _drop_condition(leaf: exp.Expr) -> Steps:
    node, parent = leaf, leaf.parent
    while isinstance(parent, exp.Paren):
        node, parent = parent, parent.parent
    if isinstance(parent, CONNECTORS):
        kept = parent.expression if parent.this is node else parent.this
        with replaced(parent, kept.copy()):
            yield "condition_removed"
    elif isinstance(parent, exp.Where | exp.Having) and isinstance(parent.parent, exp.Query):
        with changed(parent.parent, **{str(parent.arg_key): None}):
            yield "condition_removed"


def swap_connectors(scopes: Scopes) -> Steps:
    """Yield `connector`: `a = 1 OR b = 2` -> `(a = 1 AND b = 2)`, and the other way round."""
    for root in list_roots(scopes):
        for node in root.find_all(*CONNECTORS):
            kind = type(node)
            parent = node.parent
            while isinstance(parent, exp.Paren):
                parent = parent.parent
            if type(parent) is kind:
                continue
            parts = list_parts(node, kind)
            is_free = [not is_join_condition(part, scopes) for part in parts]
            for index in range(len(parts) - 1):
                if is_free[index] and is_free[index + 1]:
                    with replaced(node, _swap_connector(kind, parts, index)):
                        yield "connector"


def _swap_connector(kind: type[exp.Connector], parts: list[exp.Expr], index: int) -> exp.Expr:
    other = exp.Or if kind is exp.And else exp.And
    pair = other(this=parts[index].copy(), expression=parts[index + 1].copy())
    if len(parts) == 2:
        return exp.Paren(this=pair)
    copies = [part.copy() for part in parts]
    copies[index] = exp.Paren(this=pair)
    return join_parts(kind, without(copies, index + 1))
