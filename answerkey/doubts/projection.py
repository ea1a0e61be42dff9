"""The columns that a query shows, uses and joins, for what its questions ask."""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.doubts.query import Query, read_query
from answerkey.engines.schema import Column, Table
from answerkey.order.inspection import Inspection
from answerkey.sql.query_tree import find_cte, first_select, to_sql

_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_MAX_SHOWN_CHARACTERS = 100


class Selected(NamedTuple):
    """A result column.

    text: its SQL, as evidence.
    table, column: the one column of a table that it is, or is computed from; else None.
    aggregate: '' for a column as it is, the name of an aggregate, `several` for more of them, or
        `computed` for anything else.
    """

    node: exp.Expr
    text: str
    table: Table | None
    column: Column | None
    aggregate: str


class Projection:
    """The columns of one query.

    selected: its result columns; none if it selects *.
    names: of each column of the tables that it reads, the name of the table and its own.
    used: the same of the columns that it names.
    joined: the same of the columns that it joins by, in a JOIN or by an equality of two columns.
    """

    def __init__(self, inspection: Inspection) -> None:
        query = read_query(inspection)
        self.names = [
            (table.name, column.name) for table in _list_tables(query) for column in table.columns
        ]
        resolved = {}
        for node in query.scopes.nodes.find_all(exp.Column):
            base = query.base_column(node)
            if base is not None:
                resolved[id(node)] = node, base
        self.used = {(table.name, column.name) for _, (table, column) in resolved.values()}
        self.joined = {
            (table.name, column.name)
            for node, (table, column) in resolved.values()
            if node.find_ancestor(exp.Join) is not None
            or (
                isinstance(node.parent, exp.EQ)
                and resolved.keys() >= set(map(id, node.parent.iter_expressions()))
            )
        }
        select = first_select(inspection.tree)
        outputs = select.expressions if select is not None else []
        has_star = any(output.is_star and not isinstance(output, exp.Count) for output in outputs)
        self.selected = [] if has_star else [_read_selected(output, query) for output in outputs]


def _list_tables(query: Query) -> list[Table]:
    tables: dict[str, Table] = {}
    for node in query.scopes.nodes.find_all(exp.Table):
        table = query.schema.find_table(node.name)
        if table is not None and find_cte(node, node.name) is None:
            tables[table.name] = table
    return [tables[name] for name in sorted(tables)]


def _read_selected(expression: exp.Expr, query: Query) -> Selected:
    columns = list(expression.find_all(exp.Column))
    base = query.base_column(columns[0]) if len(columns) == 1 else None
    aggregates = {kind.key for kind in _AGGREGATES if expression.find(kind)}
    if not aggregates and not (base and isinstance(expression.unalias().unnest(), exp.Column)):
        aggregates = {"computed"}
    aggregate = "several" if len(aggregates) > 1 else "".join(aggregates)
    table, column = base if base is not None else (None, None)
    return Selected(
        expression, to_sql(expression)[:_MAX_SHOWN_CHARACTERS], table, column, aggregate
    )
