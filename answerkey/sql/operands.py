"""Operators: which nodes need no parentheses, which stand for all columns, and which number is the
place of a column."""

from __future__ import annotations

from sqlglot import exp

ROW_AGGREGATES = (exp.GroupConcat, exp.JSONArrayAgg, exp.JSONObjectAgg)  # rows count as they come
LITERALS = (exp.Literal, exp.Null, exp.Boolean, exp.HexString, exp.Placeholder)
_ATOMS = (*LITERALS, exp.Star, exp.Column, exp.Subquery, exp.Tuple, exp.Window, exp.Filter)


def is_atom(node: exp.Expression) -> bool:
    """Whether a node needs no parentheses wherever it stands."""
    if isinstance(node, exp.Func):
        return not isinstance(node, exp.Connector | exp.Binary)
    return isinstance(node, _ATOMS)


def is_star(expression: exp.Expression) -> bool:
    """Whether a selected column is `*` or `t.*`."""
    return isinstance(expression, exp.Star) or (
        isinstance(expression, exp.Column) and isinstance(expression.this, exp.Star)
    )


def read_integer(node: exp.Expression) -> int | None:
    """What a term of ORDER BY or GROUP BY is worth as the place of a column, or None.

    `2` -> 2, `-(1)` -> -1, `0x10` -> 16, `2.0` -> None, `1 + 1` -> None

    Source: sqlite3ExprIsInteger in SQLite's expr.c.
    """
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_int or int(node.this) >= 2**31:
        return None
    return sign * int(node.this)
