"""Aggregates: DISTINCT inside or not, rows counted in place of values.

`count(*)` -> `COUNT(b)`, `COUNT(DISTINCT b)`; `sum(a)` -> `SUM(DISTINCT a)`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import is_whole_order_term
from answerkey.sql.scopes import Resolution, Scope, Scopes
from answerkey.suites.operators.trees import (
    COMPARISONS,
    Steps,
    changed,
    find_direct,
    find_user,
    has_unique_rows,
    is_asked_for_rows,
    is_counted_once,
    is_join_condition,
    is_nullable,
    is_same_column,
    list_key,
    list_others,
    name_column,
    replaced,
)

_DISTINCT = (exp.Count, exp.Sum, exp.Avg)
_MOST = 2


def mutate_aggregates(scopes: Scopes) -> Steps:
    """aggregate_distinct, count_argument."""
    for node in scopes.nodes.find_all(*_DISTINCT):
        inner = node.this
        if isinstance(inner, exp.Star):
            yield from _count_values(node, scopes)
            continue
        is_distinct = isinstance(inner, exp.Distinct)
        values = inner.expressions if is_distinct else [inner]
        if len(values) != 1 or node.args.get("expressions"):
            continue
        other = values[0].copy() if is_distinct else exp.Distinct(expressions=[inner.copy()])
        with changed(node, this=other):
            yield "aggregate_distinct"
        if isinstance(node, exp.Count):
            with changed(node, this=exp.Star()):
                yield "count_argument"


def _count_values(node: exp.Count, scopes: Scopes) -> Steps:
    """Distinct values of columns that the SELECT names and does not group by; and values of one
    that it does not name, and that may be NULL."""
    scope = scopes.scope_of(node)
    if scope is None:
        return
    group = scope.select.args.get("group")
    keys = [find_direct(key, scopes) for key in group.expressions] if group is not None else []
    columns = [
        column for column in scopes.nodes.find_all(exp.Column) if _is_of(column, scope, scopes)
    ]
    named: dict[tuple[str, str], exp.Column] = {}
    for column in columns:
        found = find_direct(column, scopes)
        if not any(is_same_column(found, key) for key in keys):
            named.setdefault((found.source.name, found.column.name), column)
    inner = [exp.Distinct(expressions=[column.copy()]) for column in list(named.values())[:_MOST]]
    other = _find_nullable(scope, {column.name for column in columns})
    if other is not None:
        inner += [other, exp.Distinct(expressions=[other.copy()])]
    for values in inner:
        with changed(node, this=values):
            yield "count_argument"


def _is_of(column: exp.Column, scope: Scope, scopes: Scopes) -> bool:
    """Whether a column is one of a table in a SELECT's own FROM, named by that SELECT itself."""
    found = find_direct(column, scopes)
    return found is not None and found.scope is scope and scopes.scope_of(column) is scope


def _find_nullable(scope: Scope, named: set[str]) -> exp.Column | None:
    for source in scope.sources.values():
        for column in source.table.columns if source.table is not None else ():
            if is_nullable(column) and column.name not in named:
                return name_column(column, source, scope)
    return None


# Columns: another column of the same table and affinity.
#
# `SELECT name FROM ship` -> `SELECT "port" FROM ship`.
# What groups, sorts or is counted may have any affinity: the answer looks the same. What is shown
# may be the key in place of the name.


_MOST_COLUMNS = 2
_AFFINITY_FREE = (exp.Group, exp.Count, exp.Distinct)


def mutate_columns(scopes: Scopes) -> Steps:
    """column, join_key."""
    for node in scopes.nodes.find_all(exp.Column):
        found = find_direct(node, scopes)
        if found is None or is_asked_for_rows(node):
            continue
        comparison = node.parent if isinstance(node.parent, COMPARISONS) else None
        if comparison is not None and is_join_condition(comparison, scopes):
            yield from _replace_key(node, found)
        else:
            yield from _replace_columns(node, found)


def _replace_key(node: exp.Column, found: Resolution) -> Steps:
    """Keys come first: a wrong one is what is written by mistake."""
    table = found.source.table
    keys = {name for key in table.foreign_keys for name in key.columns} | set(list_key(table))
    others = list_others(table, found.column, is_any=False, most=len(table.columns))
    others.sort(key=lambda column: column.name not in keys)
    for other in others[:_MOST_COLUMNS]:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "join_key"


def _replace_columns(node: exp.Column, found: Resolution) -> Steps:
    table = found.source.table
    is_any = isinstance(node.parent, _AFFINITY_FREE) or is_whole_order_term(node)
    others = list_others(table, found.column, is_any=is_any, most=_MOST_COLUMNS)
    key = list_key(table)
    if _is_shown(node) and len(key) == 1 and not found.column.primary_key:
        others.append(table.find_column(key[0]))
    for other in others:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "column"


def _is_shown(node: exp.Column) -> bool:
    place = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(place.parent, exp.Select) and place.arg_key == "expressions"


# Select list: DISTINCT or not.
#
# `SELECT a, b FROM t` -> `SELECT DISTINCT a, b FROM t`


def mutate_select_list(scopes: Scopes) -> Steps:
    """distinct, where equal rows count more than once."""
    for select in scopes.nodes.find_all(exp.Select):
        if (
            _shows_rows(select)
            and not is_counted_once(select)
            and not has_unique_rows(select, scopes)
        ):
            other = None if select.args.get("distinct") else exp.Distinct()
            with changed(select, distinct=other):
                yield "distinct"


def _shows_rows(select: exp.Select) -> bool:
    user = find_user(select)
    return user is None or isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation)
