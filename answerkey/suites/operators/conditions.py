"""Comparisons: another operator between the same two sides.

`a < 1` -> `a <= 1`, `a <> 1`, `a > 1`. A database that tells the first two from the gold tells all
others, but for the mirrored one, which models write by mistake.

Source: Kaminski, Ammann and Offutt, "Improving logic-based testing", Journal of Systems and
Software 86, 2013 (which three mutants of a relational operator stand for the others).
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.operators.trees import (
    COMPARISONS,
    CONNECTORS,
    Steps,
    changed,
    find_direct,
    is_asked_for_rows,
    is_join_condition,
    is_number,
    join_parts,
    list_leaves,
    list_parts,
    list_roots,
    read_text,
    replaced,
    without,
)

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


# Connectors: a condition left out, or joined otherwise.
#
# `a = 1 AND b = 2` -> `b = 2`, `a = 1`, `a = 1 OR b = 2`


_CLAUSES = {exp.Where: "where", exp.Having: "having"}


def mutate_connectors(scopes: Scopes) -> Steps:
    """condition_removed, connector (AND and OR)."""
    for root in list_roots(scopes):
        for leaf in list_leaves(root):
            if not is_join_condition(leaf, scopes):
                yield from _remove(leaf)
        yield from _connect(root, scopes)


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


# Literals: the number before and after, a longer text.
#
# `a = 5` -> `a = 4`, `a = 6`; `b = 'Paris'` -> `b = 'Parisx'`


_PLACES = (exp.Ordered, exp.Group, exp.Limit, exp.Offset)  # which column, or how many rows
_TESTS = (*COMPARISONS, exp.In, exp.Between, exp.Like, exp.Glob)
_LONGEST = 15  # digits that SQLite holds exactly


def mutate_literals(scopes: Scopes) -> Steps:
    """number (one less, one more), text_affix."""
    for node in scopes.nodes.find_all(exp.Literal, exp.Column):
        if isinstance(node.parent, _PLACES) or is_asked_for_rows(node):
            continue
        text = read_text(node, scopes)
        if text is not None:
            if isinstance(node.parent, _TESTS):
                yield from _mutate_text(node, text)
        elif isinstance(node, exp.Literal):
            yield from _mutate_number(node)


def _mutate_number(node: exp.Literal) -> Steps:
    if len(node.this) > _LONGEST or not node.this.replace(".", "", 1).isdigit():
        return
    number = Decimal(node.this)
    others = [number + 1]
    if number or not isinstance(node.parent, exp.Neg):
        others.append(number - 1)
    for other in others:
        with replaced(node, exp.Literal.number(str(other))):
            yield "number"


def _mutate_text(node: exp.Expression, text: str) -> Steps:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST:
        for other in (int(text) + 1, int(text) - 1):
            with replaced(node, exp.Literal.string(str(other).zfill(len(text)))):
                yield "number"
        return
    end = len(text.rstrip("%")) if isinstance(node.parent, exp.Like) else len(text)
    with replaced(node, exp.Literal.string(f"{text[:end]}x{text[end:]}")):
        yield "text_affix"


# Patterns: LIKE with other wildcards, and LIKE in place of =.
#
# `a LIKE '%x%'` -> `a LIKE 'x%'`, `a LIKE '%x'`


_FORMS = ("%{}%", "{}%", "%{}")


def mutate_patterns(scopes: Scopes) -> Steps:
    """pattern: other wildcards at the ends; equality_as_pattern."""
    for node in scopes.nodes.find_all(exp.Like):
        pattern = read_text(node.expression, scopes)
        core = pattern.strip("%") if pattern else ""
        if not core:
            continue
        for form in _FORMS:
            if form.format(core) != pattern:
                with changed(node, expression=exp.Literal.string(form.format(core))):
                    yield "pattern"
    for node in scopes.nodes.find_all(exp.EQ):
        text, found = read_text(node.expression, scopes), find_direct(node.this, scopes)
        if text and not (found is not None and is_number(found.column)):
            like = exp.Like(this=node.this.copy(), expression=exp.Literal.string(f"%{text}%"))
            with replaced(node, like):
                yield "equality_as_pattern"


# Ranges: BETWEEN without one of its bounds, or without the value of one.
#
# `a BETWEEN 1 AND 9` -> `(a > 1 AND a <= 9)`, `(a >= 1 AND a < 9)`, `a >= 1`, `a <= 9`


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
