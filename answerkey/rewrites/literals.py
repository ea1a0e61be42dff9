"""Literals: another number, another text."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from sqlglot import exp

from answerkey.rewrites.trees import Steps, replaced
from answerkey.sql.conditions import COMPARISONS, read_text
from answerkey.sql.scopes import Scopes

_PLACES = (exp.Ordered, exp.Group, exp.Limit, exp.Offset)  # there a literal is a column or a count
_TESTS = (*COMPARISONS, exp.In, exp.Between, exp.Like, exp.ILike, exp.Glob)
_QUANTILES = (exp.Quantile, exp.ApproxQuantile, exp.PercentileCont, exp.PercentileDisc)
_MAX_DIGITS = 15  # digits that SQLite holds exactly


def shift_numbers(scopes: Scopes) -> Steps:
    """Yield `number`: `a = 5` -> `a = 6`, `a = 4`; of a code, `a = '099'` -> `a = '100'`,
    `a = '098'`; of a share, `quantile_cont(a, 0.5)` -> `quantile_cont(a, 0.25)`, ..."""
    for node, text in _list_literals(scopes):
        if text is None:
            yield from _shift_number(node)
        elif _is_code(text) and isinstance(node.parent, _TESTS):
            for other in (int(text) + 1, int(text) - 1):
                with replaced(node, exp.Literal.string(str(other).zfill(len(text)))):
                    yield "number"


def extend_texts(scopes: Scopes) -> Steps:
    """Yield `text_affix`: `b = 'Paris'` -> `b = 'Parisx'`; `b LIKE 'Par%'` -> `b LIKE 'Parx%'`."""
    for node, text in _list_literals(scopes):
        if text is None or _is_code(text) or not isinstance(node.parent, _TESTS):
            continue
        end = len(text.rstrip("%")) if isinstance(node.parent, exp.Like | exp.ILike) else len(text)
        with replaced(node, exp.Literal.string(f"{text[:end]}x{text[end:]}")):
            yield "text_affix"


def _list_literals(scopes: Scopes) -> Iterator[tuple[exp.Expr, str | None]]:
    """The literals of a query, each with its text; None for the text of a number."""
    for node in scopes.nodes.find_all(exp.Literal, exp.Column):
        if isinstance(node.parent, _PLACES):
            continue
        text = read_text(node, scopes)
        if text is not None or isinstance(node, exp.Literal):
            yield node, text


def _is_code(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _shift_number(node: exp.Expr) -> Steps:
    if len(node.name) > _MAX_DIGITS or not node.name.replace(".", "", 1).isdigit():
        return
    number = Decimal(node.name)
    others = [number + 1]
    if number <= 1 and _is_share(node):
        others = [other for other in (number / 2, (number + 1) / 2) if other != number]
    elif number or not isinstance(node.parent, exp.Neg):
        others.append(number - 1)
    for other in others:
        with replaced(node, exp.Literal.number(str(other))):
            yield "number"


def _is_share(node: exp.Expr) -> bool:
    """Return whether a number says which quantile is meant, alone or in an array."""
    parent = node.parent.parent if isinstance(node.parent, exp.Array) else node.parent
    return isinstance(parent, _QUANTILES)
