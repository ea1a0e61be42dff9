"""The first row, or all that tie with it.

Reason: "the youngest singer" says which age counts, and not how many singers may have it.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.operands import read_integer
from answerkey.sql.query_rewrites import inline_aliases, make_limit
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed
from answerkey.suites.neighbors.conditions import add_condition, list_parts

_EXTREMES = (exp.Max, exp.Min)


def read_superlatives(scopes: Scopes, question_text: str) -> Steps:
    """all_ties in place of ORDER BY ... LIMIT 1, or of an extreme that picks the row of a column
    beside it; one_row in place of all rows that have an extreme value; first_row in place of MIN or
    MAX alone, which gives a row where there is nothing."""
    select = scopes.tree
    if not isinstance(select, exp.Select) or select.args.get("with_") is not None:
        return
    if select.args.get("limit") is not None:
        yield from _take_ties(select, scopes)
    elif select.args.get("from_") is not None and select.args.get("group") is None:
        yield from _take_rows_of_extreme(select)
        yield from _take_one(select)
        yield from _take_first(select)


def _take_ties(select: exp.Select, scopes: Scopes) -> Steps:
    order, rows = select.args.get("order"), select.args["limit"].expression
    is_first = read_integer(rows) == 1 and select.args.get("offset") is None
    if order is None or len(order.expressions) != 1 or not is_first:
        return
    key = inline_aliases(order.expressions[0].this, scopes).unnest()
    if read_integer(key) is not None:
        return
    extreme = exp.Max if order.expressions[0].args.get("desc") else exp.Min
    if key.find(exp.AggFunc) is None and select.args.get("group") is None:
        condition = _is_extreme(key, extreme, select)
        with changed(
            select, where=add_condition(select, "where", condition), order=None, limit=None
        ):
            yield "all_ties"
    elif key.find(exp.AggFunc) is not None and select.args.get("group") is not None:
        values = _copy_part(select, [exp.alias_(key.copy(), "n")], is_grouped=True)
        best = exp.Select(
            expressions=[extreme(this=exp.column("n"))],
            from_=exp.From(this=exp.Subquery(this=values)),
        )
        condition = exp.EQ(this=key, expression=exp.Subquery(this=best))
        with changed(
            select, having=add_condition(select, "having", condition), order=None, limit=None
        ):
            yield "all_ties"


def _take_rows_of_extreme(select: exp.Select) -> Steps:
    """`SELECT name, max(age) FROM t` -> the names of all who have that age."""
    shown = [column.unalias() for column in select.expressions]
    found = [column for column in shown if isinstance(column, _EXTREMES)]
    others = [column for column in shown if not isinstance(column, _EXTREMES)]
    if len(found) != 1 or not others or any(column.find(exp.AggFunc) for column in others):
        return
    value = found[0].this
    condition = _is_extreme(value, type(found[0]), select)
    columns = [value.copy() if column is found[0] else column.copy() for column in shown]
    with changed(select, expressions=columns, where=add_condition(select, "where", condition)):
        yield "all_ties"


def _take_one(select: exp.Select) -> Steps:
    where = select.args.get("where")
    if where is None or _is_one_row(select):
        return
    for part in list_parts(where.this, exp.And):
        condition = part.unnest()
        query = condition.expression.unnest() if isinstance(condition, exp.EQ) else None
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            continue
        if isinstance(query.expressions[0].unalias(), _EXTREMES) and not query.args.get("group"):
            with changed(select, limit=make_limit(1)):
                yield "one_row"
            return


def _take_first(select: exp.Select) -> Steps:
    """`SELECT min(age) FROM t` -> `SELECT age FROM t WHERE NOT age IS NULL ORDER BY age LIMIT 1`"""
    best = select.expressions[0].unalias()
    if len(select.expressions) != 1 or not isinstance(best, _EXTREMES):
        return
    value = best.this
    known = exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))
    order = exp.Ordered(this=value.copy(), desc=isinstance(best, exp.Max))
    parts = {
        "expressions": [value.copy()],
        "where": add_condition(select, "where", known),
        "order": exp.Order(expressions=[order]),
        "limit": make_limit(1),
    }
    with changed(select, **parts):
        yield "first_row"


def _is_one_row(select: exp.Select) -> bool:
    """Whether a SELECT returns one row whatever it reads."""
    shown = [column.unalias().unnest() for column in select.expressions]
    return any(isinstance(column, exp.AggFunc) for column in shown)


def _is_extreme(value: exp.Expression, extreme: type[exp.Expression], select: exp.Select) -> exp.EQ:
    """That a value is the greatest (or least) of those that the same FROM and WHERE give."""
    best = _copy_part(select, [extreme(this=value.copy())], is_grouped=False)
    return exp.EQ(this=value.copy(), expression=exp.Subquery(this=best))


def _copy_part(
    select: exp.Select, columns: list[exp.Expression], *, is_grouped: bool
) -> exp.Select:
    """A SELECT of these columns with the FROM, WHERE and groups of another."""
    names = ("from_", "joins", "where", *(("group", "having") if is_grouped else ()))
    copy = select.copy()
    return exp.Select(expressions=columns, **{name: copy.args.get(name) for name in names})
