"""Changes of superlatives: one row or all that tie, and the other end.

The functions that are called `read_...` make the changes wherever the question may mean them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from sqlglot import exp

from answerkey.engines.schema import fold_name
from answerkey.rewrites.trees import Steps, add_condition, changed, list_shown, replaced, reverse
from answerkey.sql.conditions import list_equalities, list_parts
from answerkey.sql.keys import list_key
from answerkey.sql.query_tree import has_grouping_sets, make_limit, read_integer, speaks_sqlite
from answerkey.sql.scopes import Scopes, Source, inline_aliases

_EXTREMES = (exp.Max, exp.Min)


@contextmanager
def take_other_ends(nodes: Iterable[exp.Expr]) -> Iterator[None]:
    """Take the other end by terms of ORDER BY and by calls of min() and max(): `ORDER BY a DESC
    LIMIT 1` -> `ORDER BY a NULLS LAST LIMIT 1`, `min(a)` -> `max(a)`. NULL is no end."""
    with ExitStack() as stack:
        for node in nodes:
            if isinstance(node, exp.Ordered):
                other: exp.Expr = reverse(node, nulls_last=True)
            else:
                kind = exp.Max if isinstance(node, exp.Min) else exp.Min
                other = kind(this=node.this.copy())
            stack.enter_context(replaced(node, other))
        yield


@contextmanager
def take_extreme(
    select: exp.Select,
    value: exp.Expr,
    extreme: type[exp.Expr],
    *,
    group: exp.Group | None = None,
    **clauses: Any,
) -> Iterator[None]:
    """Keep all rows that have the greatest or the least value, or all groups that have it.

    `SELECT name FROM t` -> `SELECT name FROM t WHERE age = (SELECT MIN(age) FROM t)`

    value: what is compared; of a SELECT with GROUP BY an aggregate.
    group: GROUP BY of the subquery, which shows nothing that a name or a number could stand for.
    clauses: other clauses of the SELECT; None leaves one out.
    """
    if select.args.get("group") is not None:
        values = _copy_part(select, [exp.alias_(value.copy(), "n")], is_grouped=True)
        if group is not None:
            values.set("group", group)
        best = exp.Select(
            expressions=[extreme(this=exp.column("n"))],
            from_=exp.From(this=exp.Subquery(this=values)),
        )
        clause = "having"
    else:
        best = _copy_part(select, [extreme(this=value.copy())], is_grouped=False)
        clause = "where"
    condition = exp.EQ(this=value.copy(), expression=exp.Subquery(this=best))
    clauses[clause] = add_condition(select, clause, condition)
    with changed(select, **clauses):
        yield


def _copy_part(select: exp.Select, columns: list[exp.Expr], *, is_grouped: bool) -> exp.Select:
    names = ("from_", "joins", "where", *(("group", "having") if is_grouped else ()))
    copy = select.copy()
    return exp.Select(expressions=columns, **{name: copy.args.get(name) for name in names})


def read_superlatives(scopes: Scopes, question_text: str) -> Steps:
    """Yield `all_ties`, `one_row` and `extreme_of_all`.

    all_ties: `SELECT name FROM t ORDER BY age LIMIT 1` -> `SELECT name FROM t WHERE age = (SELECT
    MIN(age) FROM t)`, also in a subquery; and the same for `SELECT name, min(age) FROM t`.
    one_row: the other way round.
    extreme_of_all: `SELECT ... FROM t JOIN u ON t.u_id = u.id ORDER BY t.age LIMIT 1` -> the least
    age of all rows of t, also of those without a row of u.

    Reason: "the youngest singer" says which age counts, and not how many singers may have it. "The
    country of the youngest singer" asks for the youngest of all, who may have no country.
    """
    for subquery in list(scopes.nodes.find_all(exp.Subquery)):
        yield from _take_inner_ties(subquery, scopes)
    select = scopes.tree
    if not isinstance(select, exp.Select) or select.args.get("with_") is not None:
        return
    if select.args.get("limit") is not None:
        yield from _take_ties(select, scopes)
    elif select.args.get("from_") is not None and select.args.get("group") is None:
        yield from _take_rows_of_extreme(select)
        yield from _take_one(select)


def _take_ties(select: exp.Select, scopes: Scopes) -> Steps:
    """Yield `all_ties` and `extreme_of_all` of the first row by one term of ORDER BY. The first
    three are three, and a second term says which of those that tie is meant."""
    order, rows = select.args.get("order"), select.args["limit"].expression
    is_first = read_integer(rows) == 1 and select.args.get("offset") is None
    if order is None or len(order.expressions) != 1 or not is_first:
        return
    key = inline_aliases(order.expressions[0].this, scopes).unnest()
    if read_integer(key) is not None:
        return
    extreme = exp.Max if order.expressions[0].args.get("desc") else exp.Min
    if (select.args.get("group") is not None) != (key.find(exp.AggFunc) is not None):
        return
    group = _spell_group(select, scopes)
    with take_extreme(select, key, extreme, group=group, order=None, limit=None):
        yield "all_ties"
    source = _find_whole(select, key, scopes)
    if source is not None:
        best = exp.Select(
            expressions=[extreme(this=key.copy())], from_=exp.From(this=source.node.copy())
        )
        best.set("where", select.args["where"].copy() if select.args.get("where") else None)
        test = exp.EQ(this=key.copy(), expression=exp.Subquery(this=best))
        with changed(select, where=add_condition(select, "where", test), order=None):
            yield "extreme_of_all"


def _spell_group(select: exp.Select, scopes: Scopes) -> exp.Group | None:
    """Return GROUP BY without names and numbers of outputs; None if it is plain already."""
    group = select.args.get("group")
    if speaks_sqlite() or group is None or has_grouping_sets(group):
        return None
    keys = []
    for key in group.expressions:
        number = read_integer(key)
        if number is not None and 0 < number <= len(select.expressions):
            keys.append(select.expressions[number - 1].unalias().copy())
        else:
            keys.append(inline_aliases(key, scopes).unnest())
    return exp.Group(expressions=keys)


def _find_whole(select: exp.Select, key: exp.Expr, scopes: Scopes) -> Source | None:
    """The table of a column by which a SELECT sorts, if it joins nothing but what rows of that
    table refer to, and asks nothing of these."""
    column = scopes.find_direct(key)
    joins = select.args.get("joins") or []
    if column is None or not joins or any(join.side or join.method for join in joins):
        return None
    reached, pairs = {column.source}, list_equalities(select, scopes)
    pairs += [(right, left) for left, right in pairs]
    for _ in joins:
        reached |= {
            parent
            for (child, _), (parent, name) in pairs
            if child in reached and _is_parent(parent, name)
        }
    where = select.args.get("where")
    nodes = where.find_all(exp.Column) if where is not None else ()
    resolved = [scopes.resolve(node) for node in nodes]
    is_own = all(other is not None and other.source is column.source for other in resolved)
    is_whole = reached >= {*scopes.scope_of(select).sources.values()}
    return column.source if is_own and is_whole else None


def _is_parent(source: Source, name: str) -> bool:
    """Whether a column, by its folded name, is the key of a member of FROM."""
    return source.table is not None and [*map(fold_name, list_key(source.table))] == [name]


def _take_inner_ties(subquery: exp.Subquery, scopes: Scopes) -> Steps:
    select, user = subquery.this, subquery.parent
    if not isinstance(user, exp.EQ) or user.expression is not subquery:
        return
    if isinstance(select, exp.Select) and select.args.get("limit") is not None:
        for _ in _take_ties(select, scopes):
            other = exp.In(this=user.this.copy(), query=subquery.copy())
            with replaced(user, other):
                yield "all_ties"


def _take_rows_of_extreme(select: exp.Select) -> Steps:
    """`SELECT name, max(age) FROM t` -> the names of all of that age: SQLite shows one of them."""
    shown = list_shown(select)
    extremes = [column for column in shown if isinstance(column, _EXTREMES)]
    others = [column for column in shown if not isinstance(column, _EXTREMES)]
    if len(extremes) != 1 or not others or any(column.find(exp.AggFunc) for column in others):
        return
    value = extremes[0].this
    columns = [value.copy() if column is extremes[0] else column.copy() for column in shown]
    with take_extreme(select, value, type(extremes[0]), expressions=columns):
        yield "all_ties"


def _take_one(select: exp.Select) -> Steps:
    """`WHERE age = (SELECT max(age) FROM t)` -> one row of these, as LIMIT 1 has."""
    where = select.args.get("where")
    shown = (column.unnest() for column in list_shown(select))
    if where is None or any(isinstance(column, exp.AggFunc) for column in shown):
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
