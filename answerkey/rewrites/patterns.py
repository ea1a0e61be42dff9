"""Patterns: LIKE in place of an equality, and wildcards on one side or on both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, replaced
from answerkey.sql.conditions import read_text
from answerkey.sql.keys import is_number
from answerkey.sql.query_tree import speaks_sqlite
from answerkey.sql.scopes import Scopes

_WILDCARDS = ("%{}%", "{}%", "%{}")


def any_case_like() -> type[exp.Like | exp.ILike]:
    """Return the LIKE that ignores the case of letters: LIKE itself in SQLite, else ILIKE."""
    return exp.Like if speaks_sqlite() else exp.ILike


@contextmanager
def contain_text(comparison: exp.Binary, text: str) -> Iterator[None]:
    """Look for a text anywhere in a value: `a = 'x'`, `a LIKE 'x'` -> `a LIKE '%x%'`."""
    pattern = exp.Literal.string(f"%{text}%")
    like = exp.Like if isinstance(comparison, exp.Like) else any_case_like()
    with replaced(comparison, like(this=comparison.this.copy(), expression=pattern)):
        yield


def contain_texts(scopes: Scopes) -> Steps:
    """Yield `equality_as_pattern`: `a = 'x'` -> `a LIKE '%x%'`, unless a is a number."""
    for equality in scopes.nodes.find_all(exp.EQ):
        text, column = read_text(equality.expression, scopes), scopes.find_direct(equality.this)
        if text and not (column is not None and is_number(column.column)):
            with contain_text(equality, text):
                yield "equality_as_pattern"


def move_wildcards(scopes: Scopes) -> Steps:
    """Yield `pattern`: `a LIKE '%x%'` -> `a LIKE 'x%'`, `a LIKE '%x'`."""
    for node in scopes.nodes.find_all(exp.Like, exp.ILike):
        pattern = read_text(node.expression, scopes)
        core = pattern.strip("%") if pattern else ""
        for form in _WILDCARDS if core else ():
            if form.format(core) != pattern:
                with changed(node, expression=exp.Literal.string(form.format(core))):
                    yield "pattern"
