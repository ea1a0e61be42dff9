"""Constants and conditions: the values with which a query compares columns, to be planted in
variants, and values that meet each comparison and miss it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.fuzzing.values import list_near

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like)
_FLIPPED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


class Condition(NamedTuple):
    """A value that meets a comparison of a column with a literal, and one that misses it."""

    table: str
    column: str
    meets: Any
    misses: Any


class Conditions(NamedTuple):
    """The comparisons of a query, and the tables that it reads."""

    tables: tuple[str, ...]
    conditions: tuple[Condition, ...]


def list_constants(scopes: Scopes) -> list[tuple[str, str, Any]]:
    """The table, the column and the value of each comparison of a column with a literal.

    `SELECT name FROM ship WHERE tons > 9 AND flag LIKE '%Peru%'` -> ('ship', 'tons', 9),
    ('ship', 'flag', 'Peru')
    """
    return [(table, column, value) for _, table, column, value in _read_comparisons(scopes)]


def list_conditions(scopes: Scopes) -> Conditions:
    """The tables of a query, and what meets and misses each of its comparisons.

    `SELECT name FROM ship WHERE tons > 9` -> ('ship',), [('ship', 'tons', 10, 9)]
    """
    tables = dict.fromkeys(
        source.table.name
        for scope in scopes.select_scopes()
        for source in scope.sources.values()
        if source.table is not None
    )
    found = {}
    for kind, table, column, value in _read_comparisons(scopes):
        near = list_near(value) or [value]  # one for the text 0, since -1 is none of its kind
        less, more = near[0], near[-1]
        meets, misses = {
            exp.NEQ: (more, value),
            exp.GT: (more, value),
            exp.LT: (less, value),
            exp.LTE: (value, more),
        }.get(kind, (value, less))
        found.setdefault((table, column), Condition(table, column, meets, misses))
    return Conditions(tuple(tables), tuple(found.values()))


def _read_comparisons(
    scopes: Scopes,
) -> Iterator[tuple[type[exp.Expression], str, str, Any]]:
    """The kind of each comparison, as if its column stood to the left, with what is compared."""
    for node in scopes.nodes.find_all(*_COMPARISONS, exp.Between, exp.In):
        column, values = _read_sides(node)
        resolution = scopes.resolve(column) if isinstance(column, exp.Column) else None
        if resolution is None or resolution.table is None or resolution.column is None:
            continue
        kind = type(node)
        if column is not node.this:
            kind = _FLIPPED.get(kind, kind)
        for value in (_read_value(side, scopes) for side in values):
            if isinstance(value, str) and isinstance(node, exp.Like):
                value = value.replace("%", "").replace("_", "x")
            if value is not None:
                yield kind, resolution.table.name, resolution.column.name, value


def _read_sides(node: exp.Expression) -> tuple[exp.Expression, list[exp.Expression]]:
    if isinstance(node, exp.Between):
        return node.this, [node.args["low"], node.args["high"]]
    if isinstance(node, exp.In):
        return node.this, node.expressions
    sides = [node.this, node.expression]
    if not isinstance(sides[0], exp.Column):
        sides.reverse()
    return sides[0], sides[1:]


def _read_value(node: exp.Expression, scopes: Scopes) -> Any:
    """A literal, or a text in double quotes: SQLite takes it for a text where no column has it for
    a name. None for what is neither."""
    if isinstance(node, exp.Column):
        is_text = node.this.args.get("quoted") and not node.table and scopes.resolve(node) is None
        return node.name if is_text else None
    return _read_literal(node)


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
