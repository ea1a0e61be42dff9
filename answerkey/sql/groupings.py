"""Groupings: what a SELECT groups by, and the columns that this leaves open (bare columns).

`SELECT T1.id, T1.name, T2.day FROM ship AS T1 JOIN visit AS T2 ON ... GROUP BY T1.id` -> T2.day is
bare; T1.name is not, since the primary key T1.id determines it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from answerkey.sql.query_tree import is_aggregate, is_windowed, read_integer
from answerkey.sql.scopes import Resolution, Scope, Scopes, Source, inline_aliases
from answerkey.sqlite.schema import fold_name


@dataclass(slots=True)
class Grouping:
    """A SELECT that groups: its keys, and the bare columns in it (or the `*` that holds some)."""

    scope: Scope
    keys: list[exp.Expression]
    bare: list[exp.Expression]


def read_grouping(select: exp.Select, scopes: Scopes) -> Grouping | None:
    """Return how a SELECT groups, or None if it does not aggregate or has no FROM.

    A PRIMARY KEY is taken to have no NULL, as authors of queries do.
    """
    group = select.args.get("group")
    if group is None and not scopes.nodes.find_all(exp.AggFunc, exp.Anonymous):
        return None
    parts = [*select.expressions]
    parts += [select.args[name] for name in ("having", "order") if select.args.get(name)]
    aggregates = [node for part in parts for node in _aggregates(part)]
    if group is None and not aggregates:
        return None
    if select.args.get("from_") is None:
        return None
    if group is None:
        parts = [part for part in parts if not isinstance(part, exp.Order)]  # of one row
    scope = scopes.scope_of(select)
    keys = [_read_key(key, select, scopes) for key in group.expressions] if group else []
    bare = []
    outside = [column for part in parts for column in _columns_outside_aggregates(part, keys)]
    known = _determine(keys, scopes, scope) if outside else set()
    for column in outside:
        if isinstance(column, exp.Star) or column.is_star:
            outputs = scopes.expand_star(column, scope)
            if any(not _is_known(output.resolution, known) for output in outputs):
                bare.append(column)
            continue
        found = scopes.resolve(column)
        if found is None or found.is_alias or found.scope is not scope:
            continue  # a string, a result column that is looked at itself, an outer constant
        if (id(found.source), fold_name(column.name)) not in known:
            bare.append(column)
    return Grouping(scope, keys, bare)


def _read_key(key: exp.Expression, select: exp.Select, scopes: Scopes) -> exp.Expression:
    """A term of GROUP BY as an expression over FROM: `1` and names of result columns replaced."""
    bare = key.unnest()
    place = read_integer(bare)
    if place is not None:
        outputs = scopes.outputs(select)
        if 0 < place <= len(outputs) and outputs[place - 1].expression is not None:
            return outputs[place - 1].expression
    found = scopes.resolve(bare) if isinstance(bare, exp.Column) else None
    if found is not None and not found.is_alias:
        return bare
    return inline_aliases(bare, scopes)


def _is_aggregate(node: exp.Expression) -> bool:
    return (isinstance(node, exp.Filter) or is_aggregate(node)) and not is_windowed(node)


def _aggregates(node: exp.Expression) -> Iterator[exp.Expression]:
    if isinstance(node, exp.Query):
        return
    if _is_aggregate(node):
        yield node.this if isinstance(node, exp.Filter) else node
        return
    for child in node.iter_expressions():
        yield from _aggregates(child)


def _columns_outside_aggregates(
    node: exp.Expression, keys: list[exp.Expression]
) -> Iterator[exp.Expression]:
    if isinstance(node, exp.Query) or _is_aggregate(node):
        return
    if isinstance(node, exp.Column | exp.Star):
        yield node
        return
    if any(type(key) is type(node) and key == node for key in keys):
        return
    for child in node.iter_expressions():
        yield from _columns_outside_aggregates(child, keys)


# What GROUP BY determines

_Place = tuple[int, str]


def _determine(keys: list[exp.Expression], scopes: Scopes, scope: Scope) -> set[_Place]:
    """The columns, as (source, name), that have one value in each group by their keys: these, what
    conditions equate to them or to a constant, and the other columns of a table whose primary or
    unique NOT NULL key is among them."""
    known = {place for key in keys if (place := _place(key, scopes, scope))}
    pairs = list(_equalities(scopes, scope))
    size = -1
    while size != len(known):
        size = len(known)
        for left, right in pairs:
            if left is None or left in known:
                known.add(right)
            elif right in known:
                known.add(left)
        for source in scope.sources.values():
            if source.table is not None and _has_known_key(source, known):
                known |= {(id(source), fold_name(column.name)) for column in source.table.columns}
    return known


def _place(node: exp.Expression, scopes: Scopes, scope: Scope) -> _Place | None:
    found = scopes.resolve(node) if isinstance(node, exp.Column) and node.parent else None
    if found is None or found.source is None or found.scope is not scope:
        return None
    return id(found.source), fold_name(node.name)


def _equalities(scopes: Scopes, scope: Scope) -> Iterator[tuple[_Place | None, _Place]]:
    """Columns that WHERE or an inner ON equates; None stands for a constant."""
    select = scope.select
    joins = select.args.get("joins") or []
    if any(join.side for join in joins):
        joins = []  # an outer join's ON equates nothing in the rows that it fills up with NULL
    conditions = [join.args["on"] for join in joins if join.args.get("on") is not None]
    if select.args.get("where") is not None:
        conditions.append(select.args["where"].this)
    while conditions:
        node = conditions.pop().unnest()
        if isinstance(node, exp.And):
            conditions += [node.this, node.expression]
        elif isinstance(node, exp.EQ):
            sides = node.this.unnest(), node.expression.unnest()
            left, right = (_place(side, scopes, scope) for side in sides)
            if left is not None and right is not None:
                yield left, right
            elif left is not None and isinstance(sides[1], exp.Literal):
                yield None, left
            elif right is not None and isinstance(sides[0], exp.Literal):
                yield None, right


def _has_known_key(source: Source, known: set[_Place]) -> bool:
    def is_known(name: str) -> bool:
        column = source.table.find_column(name)
        is_not_null = column is not None and (column.is_not_null or column.primary_key > 0)
        return is_not_null and (id(source), fold_name(name)) in known

    return any(all(map(is_known, key)) for key in source.table.unique_keys)


def _is_known(found: Resolution | None, known: set[_Place]) -> bool:
    return (
        found is not None
        and found.column is not None
        and (id(found.source), fold_name(found.column.name)) in known
    )
