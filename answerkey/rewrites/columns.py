"""Other columns of the same table: shown, compared, or joined by."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, list_others, replaced
from answerkey.sql.conditions import COMPARISONS, is_join_condition
from answerkey.sql.keys import find_one_key, list_key
from answerkey.sql.query_tree import is_whole_order_term
from answerkey.sql.scopes import DirectColumn, Scopes

_MAX_OTHERS_PER_COLUMN = 2  # the nearest in the table: a wide one would give all neighbors
_AFFINITY_FREE = (exp.Group, exp.Count, exp.Distinct)


def use_other_column(scopes: Scopes) -> Steps:
    """Yield `column`, another one of the table: `SELECT name FROM ship` -> `SELECT "port" FROM
    ship`.

    The other column has the same affinity. A column that groups, sorts or is counted may be
    replaced by any, since the answer looks the same. A column that is shown may also be replaced by
    the key.
    """
    for node in scopes.nodes.find_all(exp.Column):
        column = scopes.find_direct(node)
        if column is not None and not _joins(node, scopes):
            yield from _replace_column(node, column)


def join_by_other_column(scopes: Scopes) -> Steps:
    """Yield `join_key`: `FROM ship JOIN port ON ship.port_id = port.id` -> `ON "ship"."id" =
    port.id`."""
    for node in scopes.nodes.find_all(exp.Column):
        column = scopes.find_direct(node)
        if column is not None and _joins(node, scopes):
            yield from _replace_key(node, column)


def _joins(node: exp.Column, scopes: Scopes) -> bool:
    return isinstance(node.parent, COMPARISONS) and is_join_condition(node.parent, scopes)


def _replace_key(node: exp.Column, joined: DirectColumn) -> Steps:
    table = joined.table  # keys come first: a wrong one is written by mistake
    keys = {name for key in table.foreign_keys for name in key.columns} | set(list_key(table))
    others = list_others(table, joined.column, is_any=False, most=len(table.columns))
    others.sort(key=lambda column: column.name not in keys)
    for other in others[:_MAX_OTHERS_PER_COLUMN]:
        with replaced(node, joined.beside(other).write()):
            yield "join_key"


def _replace_column(node: exp.Column, column: DirectColumn) -> Steps:
    table = column.table
    is_any = isinstance(node.parent, _AFFINITY_FREE) or is_whole_order_term(node)
    others = list_others(table, column.column, is_any=is_any, most=_MAX_OTHERS_PER_COLUMN)
    key = find_one_key(table)
    if _is_shown(node) and key is not None and not column.column.primary_key:
        others.append(key)
    for other in others:
        with replaced(node, column.beside(other).write()):
            yield "column"


def _is_shown(node: exp.Column) -> bool:
    output = node.parent if isinstance(node.parent, exp.Alias) else node
    return isinstance(output.parent, exp.Select) and output.arg_key == "expressions"
