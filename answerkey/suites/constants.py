"""Constants and conditions: the values with which a query compares columns, to be planted in
variants, and values that meet each comparison and miss it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.sql.query_parts import first_select, selects_of
from answerkey.sql.scopes import Scopes
from answerkey.suites.fuzzing.values import list_near

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Like)
_PREDICATES = (*_COMPARISONS, exp.Between, exp.In)
_FLIPPED = {exp.GT: exp.LT, exp.GTE: exp.LTE, exp.LT: exp.GT, exp.LTE: exp.GTE}


Place = tuple[str, str]  # a table and a column


class Condition(NamedTuple):
    """A value that meets a comparison of a column with a literal, and one that misses it."""

    table: str
    column: str
    meets: Any
    misses: Any


class Conditions(NamedTuple):
    """The comparisons of a SELECT, and the tables that it reads."""

    tables: tuple[str, ...]
    conditions: tuple[Condition, ...]


def list_constants(scopes: Scopes) -> list[tuple[str, str, Any]]:
    """The table, the column and the value of each comparison of a column with a literal.

    `SELECT name FROM ship WHERE tons > 9 AND flag LIKE '%Peru%'` -> ('ship', 'tons', 9),
    ('ship', 'flag', 'Peru')
    """
    predicates = scopes.nodes.find_all(*_PREDICATES)
    found = _read_comparisons(scopes, predicates)
    return [(table, column, value) for _, table, column, value in found]


def list_shared_columns(scopes: Scopes) -> list[tuple[Place, Place]]:
    """The columns that INTERSECT, EXCEPT or IN with a subquery looks up in each other, in pairs.
    Keys and references are left out: they share values already.

    `SELECT master FROM ship EXCEPT SELECT mayor FROM port` -> (('ship', 'master'), ('port',
    'mayor'))
    """
    pairs = []
    for node in scopes.nodes.find_all(exp.Intersect, exp.Except, exp.In):
        if isinstance(node, exp.In):
            sides = [[node.this], _list_outputs(node.args.get("query"))]
        else:
            sides = [_list_outputs(node.this), _list_outputs(node.expression)]
        for columns in zip(*sides, strict=False):
            left, right = (_find_place(column, scopes) for column in columns)
            if left is not None and right is not None and left != right:
                pairs.append((left, right))
    return pairs


def _list_outputs(query: exp.Expression | None) -> list[exp.Expression]:
    select = first_select(query) if query is not None else None
    return [output.unalias() for output in select.expressions] if select is not None else []


def _find_place(node: exp.Expression, scopes: Scopes) -> Place | None:
    found = scopes.resolve(node) if isinstance(node, exp.Column) else None
    if found is None or found.table is None or found.column is None:
        return None
    name = found.column.name
    is_reference = any(name in key.columns for key in found.table.foreign_keys)
    return None if found.column.primary_key or is_reference else (found.table.name, name)


def list_conditions(scopes: Scopes, tables: Container[str]) -> list[Conditions]:
    """For each SELECT of the query, or of those that set operations join: its tables, and what
    meets and misses each of its comparisons of columns of `tables`. One without any is left out.

    `SELECT name FROM ship WHERE tons > 9` -> [(('ship',), [('ship', 'tons', 10, 9)])]
    """
    found = [_read_conditions(select, scopes, tables) for select in selects_of(scopes.tree)]
    return [one for one in found if one.conditions]


def _read_conditions(select: exp.Select, scopes: Scopes, tables: Container[str]) -> Conditions:
    named = dict.fromkeys(
        source.table.name
        for inner in select.find_all(exp.Select)
        for source in scopes.scope_of(inner).sources.values()
        if source.table is not None
    )
    found = {}
    for kind, table, column, value in _read_comparisons(scopes, select.find_all(*_PREDICATES)):
        near = list_near(value) or [value]  # one for the text 0, since -1 is none of its kind
        less, more = near[0], near[-1]
        meets, misses = {
            exp.NEQ: (more, value),
            exp.GT: (more, value),
            exp.LT: (less, value),
            exp.LTE: (value, more),
        }.get(kind, (value, less))
        if table in tables:
            found.setdefault((table, column), Condition(table, column, meets, misses))
    return Conditions(tuple(named), tuple(found.values()))


def _read_comparisons(
    scopes: Scopes, predicates: Iterable[exp.Expression]
) -> Iterator[tuple[type[exp.Expression], str, str, Any]]:
    """The kind of each comparison, as if its column stood to the left, with what is compared."""
    for node in predicates:
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
