"""Columns: another column of the same table and affinity, or that of another table of the FROM.

`SELECT name FROM ship` -> `SELECT "port" FROM ship`; `t.name` -> `u.name`; `a = 5` -> `a = b`.
What groups, sorts or is counted may have any affinity: the answer looks the same. What is shown may
be the key in place of the name.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import is_whole_order_term
from answerkey.sql.resolutions import Resolution, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name
from answerkey.suites.neighbors.changes import Steps, replaced
from answerkey.suites.neighbors.conditions import COMPARISONS, is_join_condition
from answerkey.suites.neighbors.names import (
    find_direct,
    list_key,
    list_others,
    name_column,
    read_text,
)
from answerkey.suites.neighbors.queries import is_asked_for_rows

_MOST = 2
_AFFINITY_FREE = (exp.Group, exp.Count, exp.Distinct)


def mutate_columns(scopes: Scopes) -> Steps:
    """column, column_source (the same name in another table), join_key, literal_as_column."""
    for node in scopes.nodes.find_all(exp.Column):
        found = find_direct(node, scopes)
        if found is None or is_asked_for_rows(node):
            continue
        comparison = node.parent if isinstance(node.parent, COMPARISONS) else None
        if comparison is not None and is_join_condition(comparison, scopes):
            yield from _replace_key(node, found)
        else:
            yield from _replace(node, found, scopes)
            if comparison is not None and comparison.this is node:
                yield from _replace_literal(comparison, found, scopes)


def _replace_key(node: exp.Column, found: Resolution) -> Steps:
    """Keys come first: a wrong one is what is written by mistake."""
    table = found.source.table
    keys = {name for key in table.foreign_keys for name in key.columns} | set(list_key(table))
    others = list_others(table, found.column, is_any=False, most=len(table.columns))
    others.sort(key=lambda column: column.name not in keys)
    for other in others[:_MOST]:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "join_key"


def _replace(node: exp.Column, found: Resolution, scopes: Scopes) -> Steps:
    table = found.source.table
    is_any = isinstance(node.parent, _AFFINITY_FREE) or is_whole_order_term(node)
    others = list_others(table, found.column, is_any=is_any, most=_MOST)
    key = list_key(table)
    if _is_shown(node) and len(key) == 1 and not found.column.primary_key:
        others.append(table.find_column(key[0]))
    for other in others:
        with replaced(node, name_column(other, found.source, found.scope)):
            yield "column"
    for source in found.scope.sources.values():
        twin = source.table.find_column(found.column.name) if source.table is not None else None
        is_other = fold_name(source.name) != fold_name(found.source.name)
        if is_other and twin is not None and not _is_equated(found, source, scopes):
            with replaced(node, name_column(twin, source, found.scope)):
                yield "column_source"


def _is_shown(node: exp.Column) -> bool:
    place = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(place.parent, exp.Select) and place.arg_key == "expressions"


def _is_equated(found: Resolution, source: Source, scopes: Scopes) -> bool:
    """Whether an inner join gives a column and that of the same name in another table one value."""
    if any(join.side for join in found.scope.select.args.get("joins") or ()):
        return False
    wanted = {(id(other), fold_name(found.column.name)) for other in (found.source, source)}
    for node in scopes.nodes.find_all(exp.EQ):
        sides = [find_direct(side, scopes) for side in (node.this, node.expression)]
        if {(id(side.source), fold_name(side.column.name)) for side in sides if side} == wanted:
            return True
    return False


def _replace_literal(comparison: exp.Expression, found: Resolution, scopes: Scopes) -> Steps:
    literal = comparison.expression
    if not isinstance(literal, exp.Literal) and read_text(literal, scopes) is None:
        return
    for other in list_others(found.source.table, found.column, is_any=False, most=1):
        with replaced(literal, name_column(other, found.source, found.scope)):
            yield "literal_as_column"
