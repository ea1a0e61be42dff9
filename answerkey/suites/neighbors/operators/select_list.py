"""Select list: DISTINCT or not, a column less, two columns swapped, one more.

`SELECT a, b FROM t` -> `SELECT DISTINCT a, b FROM t`, `SELECT b FROM t`, `SELECT b, a FROM t`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, without
from answerkey.suites.neighbors.queries import (
    find_user,
    has_unique_rows,
    is_counted_once,
    is_top,
)


def mutate_select_list(scopes: Scopes) -> Steps:
    """distinct, where equal rows count more than once; shown_column_removed, shown_columns_swapped
    and shown_column_added (what it sorts or groups by), in the outermost SELECT."""
    for select in scopes.nodes.find_all(exp.Select):
        if (
            _shows_rows(select)
            and not is_counted_once(select)
            and not has_unique_rows(select, scopes)
        ):
            other = None if select.args.get("distinct") else exp.Distinct()
            with changed(select, distinct=other):
                yield "distinct"
        if is_top(select):
            yield from _mutate_columns(select)


def _shows_rows(select: exp.Select) -> bool:
    user = find_user(select)
    return user is None or isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation)


def _mutate_columns(select: exp.Select) -> Steps:
    columns = select.expressions
    for place in range(len(columns) if len(columns) > 1 else 0):
        with changed(select, expressions=without(columns, place)):
            yield "shown_column_removed"
    for place in range(len(columns) - 1):
        pair = [columns[place + 1], columns[place]]
        if pair[0].unalias() == pair[1].unalias():
            continue
        with changed(select, expressions=[*columns[:place], *pair, *columns[place + 2 :]]):
            yield "shown_columns_swapped"
    shown = {to_sql(column.unalias()).lower() for column in columns}
    aliases = {column.alias.lower() for column in columns if column.alias}
    for key in _list_keys(select):
        text = to_sql(key).lower()
        if text not in shown | aliases and not isinstance(key, exp.Literal):
            with changed(select, expressions=[*columns, key.copy()]):
                yield "shown_column_added"


def _list_keys(select: exp.Select) -> list[exp.Expression]:
    order, group = select.args.get("order"), select.args.get("group")
    keys = [key.this for key in order.expressions] if order is not None else []
    return keys + (group.expressions if group is not None else [])
