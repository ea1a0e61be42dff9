"""Constants: the values with which a query compares columns, to be planted in variants."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.sql.scopes import Scopes

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like)


def list_constants(scopes: Scopes) -> list[tuple[str, str, Any]]:
    """The table, the column and the value of each comparison of a column with a literal.

    `SELECT name FROM ship WHERE tons > 9 AND flag LIKE '%Peru%'` -> ('ship', 'tons', 9),
    ('ship', 'flag', 'Peru')
    """
    found = []
    for node in scopes.nodes.find_all(*_COMPARISONS, exp.Between, exp.In):
        column, values = _read_sides(node)
        resolution = scopes.resolve(column) if isinstance(column, exp.Column) else None
        if resolution is None or resolution.table is None or resolution.column is None:
            continue
        for value in map(_read_literal, values):
            if isinstance(value, str) and isinstance(node, exp.Like):
                value = value.replace("%", "").replace("_", "x")
            if value is not None:
                found.append((resolution.table.name, resolution.column.name, value))
    return found


def _read_sides(node: exp.Expression) -> tuple[exp.Expression, list[exp.Expression]]:
    if isinstance(node, exp.Between):
        return node.this, [node.args["low"], node.args["high"]]
    if isinstance(node, exp.In):
        return node.this, node.expressions
    sides = [node.this, node.expression]
    if not isinstance(sides[0], exp.Column):
        sides.reverse()
    return sides[0], sides[1:]


def _read_literal(node: exp.Expression) -> Any:
    """A number or a text; None for what is neither."""
    sign = 1
    while isinstance(node, exp.Paren | exp.Neg):
        sign = -sign if isinstance(node, exp.Neg) else sign
        node = node.this
    if not isinstance(node, exp.Literal):
        return None
    if node.is_string:
        return node.this
    number = float(node.this)
    return sign * (int(number) if number.is_integer() else number)
