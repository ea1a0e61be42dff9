"""Patterns: LIKE with other wildcards, LIKE in place of =, and = in place of LIKE.

`a LIKE '%x%'` -> `a LIKE 'x%'`, `a LIKE '%x'`, `a = 'x'`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced
from answerkey.suites.neighbors.names import find_direct, is_number, read_text

_FORMS = ("%{}%", "{}%", "%{}")


def mutate_patterns(scopes: Scopes) -> Steps:
    """pattern: other wildcards at the ends; pattern_as_equality and equality_as_pattern."""
    for node in scopes.nodes.find_all(exp.Like):
        pattern = read_text(node.expression, scopes)
        core = pattern.strip("%") if pattern else ""
        if not core:
            continue
        for form in _FORMS:
            if form.format(core) != pattern:
                with changed(node, expression=exp.Literal.string(form.format(core))):
                    yield "pattern"
        if not isinstance(node.parent, exp.Escape):
            other = exp.EQ(this=node.this.copy(), expression=exp.Literal.string(core))
            with replaced(node, other):
                yield "pattern_as_equality"
    for node in scopes.nodes.find_all(exp.EQ):
        text, found = read_text(node.expression, scopes), find_direct(node.this, scopes)
        if text and not (found is not None and is_number(found.column)):
            like = exp.Like(this=node.this.copy(), expression=exp.Literal.string(f"%{text}%"))
            with replaced(node, like):
                yield "equality_as_pattern"
