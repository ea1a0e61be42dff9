"""Aggregates: another one, DISTINCT inside or not, rows counted in place of values.

`max(a)` -> `MIN(a)`, `AVG(a)`, `a`; `count(*)` -> `COUNT(b)`, `COUNT(DISTINCT b)`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.resolutions import Scope
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced
from answerkey.suites.neighbors.names import (
    find_direct,
    is_nullable,
    is_number,
    is_same_column,
    name_column,
)

_OTHERS = {
    exp.Min: (exp.Max, exp.Avg),
    exp.Max: (exp.Min, exp.Avg),
    exp.Avg: (exp.Sum, exp.Max),
    exp.Sum: (exp.Avg, exp.Count),
    exp.Count: (exp.Sum,),
}
_OF_NUMBERS = (exp.Avg, exp.Sum)
_DISTINCT = (exp.Count, exp.Sum, exp.Avg)
_MOST = 2


def mutate_aggregates(scopes: Scopes) -> Steps:
    """aggregate, aggregate_removed, aggregate_distinct, count_argument."""
    for node in scopes.nodes.find_all(*_OTHERS):
        inner = node.this
        if isinstance(inner, exp.Star):
            yield from _count_values(node, scopes)
            continue
        is_distinct = isinstance(inner, exp.Distinct)
        values = inner.expressions if is_distinct else [inner]
        if len(values) != 1 or node.args.get("expressions"):
            continue
        yield from _replace(node, values[0], scopes)
        if isinstance(node, _DISTINCT):
            other = values[0].copy() if is_distinct else exp.Distinct(expressions=[inner.copy()])
            with changed(node, this=other):
                yield "aggregate_distinct"
        if isinstance(node, exp.Count):
            with changed(node, this=exp.Star()):
                yield "count_argument"


def _replace(node: exp.Expression, value: exp.Expression, scopes: Scopes) -> Steps:
    found = find_direct(value, scopes)
    is_text = found is not None and not is_number(found.column)
    for kind in _OTHERS[type(node)]:
        if not (is_text and issubclass(kind, _OF_NUMBERS)):
            with replaced(node, kind(this=node.this.copy())):
                yield "aggregate"
    select = node.find_ancestor(exp.Select)
    if select is not None and not select.args.get("group") and not isinstance(node, exp.Count):
        with replaced(node, value.copy()):
            yield "aggregate_removed"


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
