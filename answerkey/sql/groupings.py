"""Groupings: which columns have one value where others have, what a SELECT groups by, and the
columns that this leaves open (bare columns).

`SELECT T1.id, T1.name, T2.day FROM ship AS T1 JOIN visit AS T2 ON ... GROUP BY T1.id` -> T2.day is
bare; T1.name is not, since the primary key T1.id determines it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from answerkey.sql.conditions import list_joins, list_merged_columns, list_terms
from answerkey.sql.keys import list_sure_keys
from answerkey.sql.query_tree import is_aggregate, is_windowed, read_integer
from answerkey.sql.scopes import (
    Place,
    Resolution,
    Scope,
    Scopes,
    find_join,
    inline_aliases,
)
from answerkey.sqlite.schema import Table, fold_name

Keys = Callable[[Table], Iterable[frozenset[str]]]  # the folded names of each key of a table


# What determines what


def list_determined(
    given: Iterable[Place], select: exp.Select, scopes: Scopes, *, keys: Keys = list_sure_keys
) -> set[Place]:
    """The columns of FROM that have one value wherever the given ones have: these, what each row
    has equal to them or to a constant, and all of a table whose key is among them."""
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
    """Whether a join fills up the rows of all tables before it with NULL."""
    return any(join.side in ("RIGHT", "FULL") for join in list_joins(select, scopes))


def _list_certain_terms(select: exp.Select, scopes: Scopes) -> Iterator[exp.Expr]:
    """The terms that hold for each row of FROM: of WHERE, and of an ON that fills up nothing."""
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
    """The columns that `=` compares with what no column of this FROM decides: a literal, a subquery
    that stands for itself, a column of the query around."""
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
    """Find a column of this FROM, be it one of a table or of a subquery."""
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


# What a SELECT groups by


@dataclass(slots=True)
class Grouping:
    """A SELECT that groups: its keys, and the bare columns in it (or the `*` that holds some)."""

    scope: Scope
    keys: list[exp.Expr]
    bare: list[exp.Expr]


def read_grouping(select: exp.Select, scopes: Scopes) -> Grouping | None:
    """Return how a SELECT groups, or None if it does not aggregate or has no FROM."""
    group = select.args.get("group")
    if group is None and not scopes.nodes.find_all(exp.AggFunc, exp.Anonymous):
        return None
    parts = [*select.expressions]
    parts += [select.args[name] for name in ("having", "order") if select.args.get(name)]
    aggregates = [node for part in parts for node in _aggregates(part)]
    if group is None and not aggregates:
        return None
    scope = scopes.scope_of(select)
    if select.args.get("from_") is None or scope is None:
        return None
    if group is None:
        parts = [part for part in parts if not isinstance(part, exp.Order)]  # of one row
    keys = [_read_key(key, select, scopes) for key in group.expressions] if group else []
    outside = [column for part in parts for column in _columns_outside_aggregates(part, keys)]
    determined: set[Place] = set()
    if outside:
        places = [_find_place(key, scope, scopes) for key in keys]
        given = [place for place in places if place is not None]
        determined = list_determined(given, select, scopes)
    bare = [column for column in outside if _is_open(column, determined, scope, scopes)]
    return Grouping(scope, keys, bare)


def _is_open(column: exp.Expr, determined: set[Place], scope: Scope, scopes: Scopes) -> bool:
    """Whether a column, or one that a `*` stands for, may have several values in a group."""
    if isinstance(column, exp.Star) or column.is_star:
        outputs = scopes.expand_star(column, scope)
        return any(
            output.resolution is None or _place_of(output.resolution, output.name) not in determined
            for output in outputs
        )
    resolution = scopes.resolve(column) if isinstance(column, exp.Column) else None
    if resolution is None or resolution.source is None or resolution.scope is not scope:
        return False  # a string, a result column that is looked at itself, an outer constant
    return _place_of(resolution, column.name) not in determined


def _read_key(key: exp.Expr, select: exp.Select, scopes: Scopes) -> exp.Expr:
    """A term of GROUP BY as an expression over FROM: `1` and names of result columns replaced."""
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
