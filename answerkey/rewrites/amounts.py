"""Amounts: the value of one row, or the sum, average or extreme of several."""

from __future__ import annotations

from sqlglot import exp

from answerkey.english.phrases import mentions_aggregate
from answerkey.rewrites.groups import is_of_thing
from answerkey.rewrites.sorting import sort_groups
from answerkey.rewrites.trees import Steps, changed, list_shown, replaced
from answerkey.sql.keys import is_number
from answerkey.sql.query_tree import speaks_sqlite
from answerkey.sql.scopes import DirectColumn, Scopes

_TOTALS = (exp.Sum, exp.Avg, exp.Max, exp.Min)


def read_single_values(scopes: Scopes, question_text: str) -> Steps:
    """Yield other amounts of the same values.

    one_value: `SELECT sum(a) FROM t WHERE id = 1` -> `SELECT a FROM t WHERE id = 1`, unless the
        question asks for a sum; the same for MAX, MIN and AVG.
    summed_value: `SELECT a FROM t` -> `SELECT SUM(a) FROM t`; with names beside it, for each of
        them, if the question asks for a total.
    average: `sum(a) / count(*)` -> `AVG(a)`, and the other way round, since a formula rarely says
        what becomes of NULL.

    Reason: "the weight of Bo" is one number, which SUM, MAX and AVG return as well. A formula of
    the evidence often says SUM of what one row has. But "the average" means that of several rows.
    """
    for select in list(scopes.nodes.find_all(exp.Select)):
        copy = select.copy()
        totals = [node for node in _list_totals(copy) if node.parent_select is copy]
        is_asked = any(_is_asked(node, question_text) for node in totals)
        is_more = any(column.find(exp.Count, exp.Case) for column in copy.expressions)
        if totals and not (is_asked or is_more) and select.args.get("having") is None:
            for node in totals:
                node.replace(node.this.copy())
            copy.set("group", None)
            with replaced(select, copy):
                yield "one_value"
        yield from _sum_values(select, scopes, question_text)
    yield from _take_one_case(scopes, question_text)
    for node in list(scopes.nodes.find_all(exp.Div)):
        total, count = node.this.find(exp.Sum), node.expression.find(exp.Count)
        is_plain = isinstance(node.this.unnest(), exp.Sum | exp.Cast)
        if is_plain and total is not None and count is not None and not total.find(exp.Case):
            with replaced(node, exp.Avg(this=total.this.copy())):
                yield "average"
    for node in list(scopes.nodes.find_all(exp.Avg)):
        with replaced(node, _average_all(node, scopes)):
            yield "average"


def _average_all(average: exp.Avg, scopes: Scopes) -> exp.Div:
    """Write an average in which NULL is 0: the sum as a float, by the number of rows. An interval,
    which other engines than SQLite have, is no float."""
    value, rows = average.this, exp.Count(this=exp.Star())
    column = scopes.find_direct(value)
    if speaks_sqlite() or (column is not None and is_number(column.column)):
        total = exp.Cast(this=exp.Sum(this=value.copy()), to=exp.DataType.build("DOUBLE"))
        return exp.Div(this=total, expression=rows)
    known = exp.Mul(this=average.copy(), expression=exp.Count(this=value.copy()))
    return exp.Div(this=known, expression=rows, typed=True, safe=False)


def _list_totals(select: exp.Select) -> list[exp.Expr]:
    """Return the aggregates that a SELECT shows, and those by which it sorts its groups."""
    order = select.args.get("order")
    nodes = [*select.expressions, *([] if order is None else [order])]
    return [total for node in nodes for total in node.find_all(*_TOTALS)]


def _is_asked(total: exp.Expr, question_text: str) -> bool:
    return mentions_aggregate(question_text, total.key)


def _take_one_case(scopes: Scopes, question_text: str) -> Steps:
    """`SUM(CASE WHEN a THEN b ELSE 0 END)` -> `MAX(CASE WHEN a THEN b END)`"""
    for node in list(scopes.nodes.find_all(exp.Sum)):
        case = node.this
        if not isinstance(case, exp.Case) or _is_asked(node, question_text):
            continue
        branches = case.args["ifs"]
        if all(isinstance(branch.args["true"], exp.Column) for branch in branches):
            without_default = case.copy()
            without_default.set("default", None)
            with replaced(node, exp.Max(this=without_default)):
                yield "one_value"


def _sum_values(select: exp.Select, scopes: Scopes, question_text: str) -> Steps:
    if any(select.args.get(name) for name in ("group", "distinct", "limit")):
        return
    shown = list_shown(select)
    columns = [scopes.find_direct(column) for column in shown]
    numbers = [column is not None and _is_amount(column, scopes) for column in columns]
    if not any(numbers) or (
        not all(numbers) and not mentions_aggregate(question_text, exp.Sum.key)
    ):
        return
    pairs = list(zip(shown, numbers, strict=True))
    totals = [exp.Sum(this=node.copy()) if is_amount else node.copy() for node, is_amount in pairs]
    keys = [node.copy() for node, is_amount in pairs if not is_amount]
    group = exp.Group(expressions=keys) if keys else None
    order = select.args.get("order")
    if not speaks_sqlite():  # other engines refuse to sort groups by what is not grouped
        order = sort_groups(select, keys) if keys else None
    with changed(select, expressions=totals, group=group, order=order):
        yield "summed_value"


def _is_amount(column: DirectColumn, scopes: Scopes) -> bool:
    return is_number(column.column) and not is_of_thing(column, scopes)
