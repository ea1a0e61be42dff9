"""Readings of which rows are kept: all, where "at least" is asked for; those that were measured."""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.rewrites.trees import FindRows, Steps, add_condition, changed
from answerkey.sql.keys import is_number
from answerkey.sql.scopes import DirectColumn, Scopes
from answerkey.sqlite.schema import quote_name

_AT_LEAST = re.compile(r"\bat least \w+\b", re.IGNORECASE)
# What nothing has none of: a person of height 0 is one whom nobody measured.
_MEASURED = re.compile(
    r"(?:^|[^a-z])(?:height|weight|age|year|length|width|depth|distance|temperature|diameter)"
    r"(?:$|[^a-z])"
)
_MAX_STEPS = 500_000  # of a look at the real rows: one that takes more says nothing


def read_uncut(scopes: Scopes, question_text: str) -> Steps:
    """uncut: all rows in place of those that LIMIT keeps in no order, where the question asks for
    "at least five": more are as good."""
    select = scopes.tree
    if not isinstance(select, exp.Select) or _AT_LEAST.search(question_text) is None:
        return
    if select.args.get("limit") is not None and select.args.get("order") is None:
        with changed(select, limit=None):
            yield "uncut"


def read_measured(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """measured_rows: without rows whose height, weight, age or year is 0, where a query averages
    such a column, takes its least, or sorts by it from the least on.

    Reason: 0 stands there for what nobody knows, and "the average height" is that of the heights
    which somebody does.
    """
    for select in list(scopes.nodes.find_all(exp.Select)):
        for column in _list_measured(select, scopes):
            name, table = quote_name(column.column.name), quote_name(column.table.name)
            test = f"SELECT 1 FROM {table} WHERE {name} = 0 LIMIT 1"
            if find_rows(test, max_steps=_MAX_STEPS):
                condition = exp.GT(this=column.write(), expression=exp.Literal.number(0))
                with changed(select, where=add_condition(select, "where", condition)):
                    yield "measured_rows"


def _list_measured(select: exp.Select, scopes: Scopes) -> list[DirectColumn]:
    """The columns of measures of which zeros would change what a SELECT says."""
    nodes = [
        call.this for call in select.find_all(exp.Avg, exp.Min) if call.parent_select is select
    ]
    nodes += [
        div.this.find(exp.Sum).this
        for div in select.find_all(exp.Div)
        if div.parent_select is select and div.this.find(exp.Sum) is not None
    ]
    order = select.args.get("order")
    if order is not None and not order.expressions[0].args.get("desc"):
        nodes.append(order.expressions[0].this)
    direct = (scopes.find_direct(node) for node in nodes)
    columns = {column.place: column for column in direct if column is not None}
    return [
        column
        for column in columns.values()
        if is_number(column.column) and _MEASURED.search(column.column.name.lower())
    ]
