"""Which rows are kept: all, if "at least" is asked for, or only those that were measured."""

from __future__ import annotations

from sqlglot import exp

from answerkey.engines.schema import quote_name
from answerkey.english.measures import is_never_zero
from answerkey.english.phrases import asks_for_at_least
from answerkey.rewrites.trees import FindRows, Steps, add_condition, changed
from answerkey.sql.keys import is_number
from answerkey.sql.query_tree import write_table
from answerkey.sql.scopes import DirectColumn, Scopes

_MAX_STEPS = 500_000  # of a query of the real rows: one that takes more says nothing


def read_uncut(scopes: Scopes, question_text: str) -> Steps:
    """Yield `uncut`: `SELECT name FROM ship LIMIT 5` -> `SELECT name FROM ship`, if the question
    asks for "at least five": more are as good."""
    select = scopes.tree
    if not isinstance(select, exp.Select) or not asks_for_at_least(question_text):
        return
    if select.args.get("limit") is not None and select.args.get("order") is None:
        with changed(select, limit=None):
            yield "uncut"


def read_measured(scopes: Scopes, question_text: str, find_rows: FindRows) -> Steps:
    """Yield `measured_rows`: `SELECT avg(height) FROM person` -> `SELECT avg(height) FROM person
    WHERE "height" > 0`, if a row has 0 there. The same for the least height, and for rows that are
    sorted by it from the least on.

    Reason: 0 means that the height is unknown, and "the average height" is that of known heights.
    """
    for select in list(scopes.nodes.find_all(exp.Select)):
        for column in _list_measured(select, scopes):
            name, table = quote_name(column.column.name), write_table(column.table.name)
            test = f"SELECT 1 FROM {table} WHERE {name} = 0 LIMIT 1"
            if find_rows(test, max_steps=_MAX_STEPS):
                condition = exp.GT(this=column.write(), expression=exp.Literal.number(0))
                with changed(select, where=add_condition(select, "where", condition)):
                    yield "measured_rows"


def _list_measured(select: exp.Select, scopes: Scopes) -> list[DirectColumn]:
    """Return the columns of measures whose zeros would change the answer of a SELECT."""
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
        if is_number(column.column) and is_never_zero(column.column.name)
    ]
