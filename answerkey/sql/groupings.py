"""Groupings: functional dependencies between columns, the keys of a SELECT that groups, and its
bare columns, whose value in a group is open.

In `SELECT T1.id, T1.name, T2.day FROM ship AS T1 JOIN visit AS T2 ON ... GROUP BY T1.id`, T2.day is
bare. T1.name is not, since the primary key T1.id determines it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from answerkey.engines.schema import Table, fold_name
from answerkey.sql.conditions import list_joins, list_merged_columns, list_terms
from answerkey.sql.keys import list_sure_keys
from answerkey.sql.query_tree import (
    has_grouping_sets,
    is_aggregate,
    is_windowed,
    read_integer,
    speaks_sqlite,
)
from answerkey.sql.scopes import (
    Place,
    Resolution,
    Scope,
    Scopes,
    find_join,
    inline_aliases,
)

Keys = Callable[[Table], Iterable[frozenset[str]]]  # the folded names of each key of a table


# Functional dependencies


def list_determined(
    given: Iterable[Place], select: exp.Select, scopes: Scopes, *, keys: Keys = list_sure_keys
) -> set[Place]:
    """Return the columns of FROM that are constant wherever the given ones are: the given ones,
    columns that equal them or a constant in each row, and all columns of a table whose key is among
    them."""
    scope = scopes.scope_of(select)
    if scope is None:
        return set(given)
    terms = list(_list_certain_terms(select, scopes))
    determined = {*given, *_list_constants(terms, scope, scopes)}
    pairs = list(_list_certain_equalities(terms, select, scope, scopes))
    tables = [(source, source.table) for source in scope.sources.values() if source.table]
    size = -1
    while size != len(determined):
        size = len(determined)
        for pair in pairs:
            if not determined.isdisjoint(pair):
                determined |= set(pair)
        for source, table in tables:
            names = {name for member, name in determined if member is source}
            if any(names >= key for key in keys(table)):
                determined |= {(source, fold_name(column.name)) for column in table.columns}
    return determined


def _has_rows_without_partner(select: exp.Select, scopes: Scopes) -> bool:
    """Return whether a join adds rows that have NULL in all tables before it."""
    return any(join.side in ("RIGHT", "FULL") for join in list_joins(select, scopes))


def _list_certain_terms(select: exp.Select, scopes: Scopes) -> Iterator[exp.Expr]:
    """Yield the terms that hold for each row of FROM: those of WHERE, and of ON in inner joins."""
    if not _has_rows_without_partner(select, scopes):
        for join in list_joins(select, scopes):
            if not join.side:
                yield from list_terms(join.args.get("on"))
    yield from list_terms(select.args.get("where"))


def _list_certain_equalities(
    terms: list[exp.Expr], select: exp.Select, scope: Scope, scopes: Scopes
) -> Iterator[tuple[Place, Place]]:
    if not _has_rows_without_partner(select, scopes):
        for name, left, right in list_merged_columns(scope):
            join = find_join(right.node)
            if join is not None and not join.side:
                yield (left, name), (right, name)
    for term in terms:
        if isinstance(term, exp.EQ):
            left_place = _find_place(term.this, scope, scopes)
            right_place = _find_place(term.expression, scope, scopes)
            if left_place is not None and right_place is not None:
                yield left_place, right_place


def _list_constants(terms: list[exp.Expr], scope: Scope, scopes: Scopes) -> Iterator[Place]:
    """Yield the columns that `=` compares with a value that no column of this FROM decides: a
    literal, an uncorrelated subquery, or a column of an outer query."""
    for term in terms:
        if isinstance(term, exp.EQ):
            for side, other in ((term.this, term.expression), (term.expression, term.this)):
                place = _find_place(side, scope, scopes)
                if place is not None and not _names_any(other, scope, scopes):
                    yield place


def _names_any(node: exp.Expr, scope: Scope, scopes: Scopes) -> bool:
    resolved = map(scopes.resolve, node.find_all(exp.Column))
    return any(resolution is not None and resolution.scope is scope for resolution in resolved)


def _find_place(node: exp.Expr, scope: Scope, scopes: Scopes) -> Place | None:
    """Return the column of this FROM, of a table or a subquery, that a node is; None if none."""
    inner = node.unnest()
    resolution = scopes.resolve(inner) if isinstance(inner, exp.Column) and inner.parent else None
    if resolution is None or resolution.scope is not scope:
        return None
    return _place_of(resolution, inner.name)


def _place_of(resolution: Resolution, name: str) -> Place | None:
    if resolution.source is None:
        return None
    if resolution.source.table is not None and resolution.column is not None:
        name = resolution.column.name  # that of the key, for `rowid`
    return resolution.source, fold_name(name)


# The keys of a SELECT that groups


@dataclass(slots=True)
class Grouping:
    """A SELECT that groups: its keys, and its bare columns (or the `*` that contains some)."""

    scope: Scope
    keys: list[exp.Expr]
    bare: list[exp.Expr]


def read_grouping(select: exp.Select, scopes: Scopes) -> Grouping | None:
    """Return how a SELECT groups, or None if it does not aggregate or has no FROM."""
    group = select.args.get("group")
    if group is not None and has_grouping_sets(group):
        return None
    if group is None and not scopes.nodes.find_all(exp.AggFunc, exp.Anonymous):
        return None
    parts = [*select.expressions]
    parts += [select.args[name] for name in ("having", "order", "qualify") if select.args.get(name)]
    aggregates = [node for part in parts for node in _aggregates(part)]
    if group is None and not aggregates:
        return None
    scope = scopes.scope_of(select)
    if select.args.get("from_") is None or scope is None:
        return None
    if group is None:
        parts = [part for part in parts if not isinstance(part, exp.Order)]  # there is only one row
    keys = [_read_key(key, select, scopes) for key in group.expressions] if group else []
    outside = [column for part in parts for column in _columns_outside_aggregates(part, keys)]
    determined: set[Place] = set()
    if not speaks_sqlite():
        return Grouping(scope, keys, [])  # other engines refuse a bare column
    if outside:
        places = [_find_place(key, scope, scopes) for key in keys]
        key_places = [place for place in places if place is not None]
        determined = list_determined(key_places, select, scopes)
    bare = [column for column in outside if _is_open(column, determined, scope, scopes)]
    return Grouping(scope, keys, bare)


def _is_open(column: exp.Expr, determined: set[Place], scope: Scope, scopes: Scopes) -> bool:
    """Return whether a column, or one that `*` stands for, may have several values in a group."""
    if isinstance(column, exp.Star) or column.is_star:
        outputs = scopes.expand_star(column, scope)
        return any(
            output.resolution is None or _place_of(output.resolution, output.name) not in determined
            for output in outputs
        )
    resolution = scopes.resolve(column) if isinstance(column, exp.Column) else None
    if resolution is None or resolution.source is None or resolution.scope is not scope:
        return False  # a string, another result column, or a constant of an outer query
    return _place_of(resolution, column.name) not in determined


def _read_key(key: exp.Expr, select: exp.Select, scopes: Scopes) -> exp.Expr:
    """Return a term of GROUP BY as an expression over FROM; replaces `1` and result column
    names."""
    bare = key.unnest()
    number = read_integer(bare)
    if number is not None:
        outputs = scopes.outputs(select)
        expression = outputs[number - 1].expression if 0 < number <= len(outputs) else None
        if expression is not None:
            return expression
    resolution = scopes.resolve(bare) if isinstance(bare, exp.Column) else None
    if resolution is not None and not resolution.is_alias:
        return bare
    return inline_aliases(bare, scopes)


def _is_aggregate(node: exp.Expr) -> bool:
    return (isinstance(node, exp.Filter) or is_aggregate(node)) and not is_windowed(node)


def _aggregates(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Query):
        return
    if _is_aggregate(node):
        yield node.this if isinstance(node, exp.Filter) else node
        return
    for child in node.iter_expressions():
        yield from _aggregates(child)


def _columns_outside_aggregates(node: exp.Expr, keys: list[exp.Expr]) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Query) or _is_aggregate(node):
        return
    if isinstance(node, exp.Column | exp.Star):
        yield node
        return
    if any(type(key) is type(node) and key == node for key in keys):
        return
    for child in node.iter_expressions():
        yield from _columns_outside_aggregates(child, keys)
