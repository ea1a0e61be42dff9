"""Literals: the number before and after, a longer text, one in other letters, one value less.

`a = 5` -> `a = 4`, `a = 6`; `b = 'Paris'` -> `b = 'Parisx'`, `b = 'paris'`;
`c IN (1, 2)` -> `c IN (1)`, `c IN (2)`; `d * 100.0` -> `d * 100`
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced, without
from answerkey.suites.neighbors.conditions import COMPARISONS
from answerkey.suites.neighbors.names import read_text
from answerkey.suites.neighbors.queries import is_asked_for_rows

_PLACES = (exp.Ordered, exp.Group, exp.Limit, exp.Offset)  # which column, or how many rows
_TESTS = (*COMPARISONS, exp.In, exp.Between, exp.Like, exp.Glob)
_LONGEST = 15  # digits that SQLite holds exactly


def mutate_literals(scopes: Scopes) -> Steps:
    """number (one less, one more), number_type (2.0 as 2), text_affix, text_case, and
    list_value_removed from IN."""
    for node in scopes.nodes.find_all(exp.Literal, exp.Column):
        if isinstance(node.parent, _PLACES) or is_asked_for_rows(node):
            continue
        text = read_text(node, scopes)
        if text is not None:
            if isinstance(node.parent, _TESTS):
                yield from _mutate_text(node, text)
        elif isinstance(node, exp.Literal):
            yield from _mutate_number(node)
    for node in scopes.nodes.find_all(exp.In):
        values = node.expressions
        for place in range(len(values) if len(values) > 1 else 0):
            with changed(node, expressions=without(values, place)):
                yield "list_value_removed"


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
    if isinstance(node.parent, exp.Mul | exp.Div) and number == int(number) and not node.is_int:
        with replaced(node, exp.Literal.number(int(number))):
            yield "number_type"


def _mutate_text(node: exp.Expression, text: str) -> Steps:
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST:
        for other in (int(text) + 1, int(text) - 1):
            with replaced(node, exp.Literal.string(str(other).zfill(len(text)))):
                yield "number"
        return
    is_pattern = isinstance(node.parent, exp.Like)
    end = len(text.rstrip("%")) if is_pattern else len(text)
    with replaced(node, exp.Literal.string(f"{text[:end]}x{text[end:]}")):
        yield "text_affix"
    others = [text.lower()] if text != text.lower() else [text.title(), text.upper()]
    for other in others:
        if other != text and not is_pattern:
            with replaced(node, exp.Literal.string(other)):
                yield "text_case"
