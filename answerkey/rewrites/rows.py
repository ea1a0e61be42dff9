"""Changes of rows: each once or as often as they come, NULL as a value, things or their names.

The functions that are called `read_...` make the changes wherever the question may mean them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from sqlglot import exp

from answerkey.engines.names import POSTGRES
from answerkey.rewrites.counts import (
    count_once,
    find_distinct_value,
    with_distinct_values,
    without_distinct_values,
)
from answerkey.rewrites.sorting import sort_groups
from answerkey.rewrites.trees import (
    Steps,
    add_condition,
    changed,
    has_unique_rows,
    list_shown,
    replaced,
)
from answerkey.sql.keys import find_one_key, is_key, is_nullable, list_key
from answerkey.sql.query_tree import is_star, read_integer, speaks_sqlite, spoken_engine
from answerkey.sql.scopes import DirectColumn, Scopes, list_columns

_CLAUSES = ("group", "having", "limit", "order", "distinct")
_CARRIED = ("order", "limit", "offset")  # clauses of a set operation that its left side gets


@contextmanager
def compare_keys(
    node: exp.SetOperation, own: exp.Column, other: exp.Column, *, is_once: bool
) -> Iterator[None]:
    """Choose by a key in place of comparing the rows of two SELECTs.

    `SELECT name FROM a EXCEPT SELECT a.name FROM a JOIN b ON b.a_id = a.id` ->
    `SELECT DISTINCT name FROM a WHERE NOT id IN (SELECT a.id FROM a JOIN b ON b.a_id = a.id)`

    own, other: the key as each side names it.
    is_once: equal rows are one, as set operations have them; else they come as often as things.
    """
    inner, outer = node.expression.copy(), node.this.copy()
    inner.set("expressions", [other])
    test: exp.Expr = exp.In(this=own, query=exp.Subquery(this=inner))
    test = exp.Not(this=test) if isinstance(node, exp.Except) else test
    outer.set("where", add_condition(outer, "where", test))
    outer.set("distinct", exp.Distinct() if is_once else None)
    for name in _CARRIED:
        if node.args.get(name) is not None:
            outer.set(name, node.args[name].copy())
    with replaced(node, outer):
        yield


def read_repeated_rows(scopes: Scopes) -> Steps:
    """Yield `without_distinct`: `SELECT DISTINCT a` -> `SELECT a`, `count(DISTINCT a)` ->
    `count(a)`; and `each_thing_once`: `SELECT DISTINCT a.name FROM a JOIN b ...` -> `SELECT a.name
    FROM a JOIN b ... GROUP BY a.id`, `count(DISTINCT a.name)` -> `count(DISTINCT a.id)`.

    Reason: "the countries of the singers" may name a country once a singer. Where LIMIT takes some
    rows, it takes others as soon as equal ones are one.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    limit = select.args.get("limit")
    is_some = limit is not None and read_integer(limit.expression) != 1
    is_once = select.args.get("distinct") is not None and not has_unique_rows(select, scopes)
    if is_once and not is_some:
        with changed(select, distinct=None):
            yield "without_distinct"
    if select.args.get("joins") and select.args.get("group") is None:
        yield from _show_each_once(select, scopes)
    for count in _list_counts(select):
        value = find_distinct_value(count)
        if value is not None:
            with without_distinct_values(count, value):
                yield "without_distinct"
            yield from _count_things(count, value, scopes)


def read_distinct_rows(scopes: Scopes) -> Steps:
    """Yield `distinct_rows`: `SELECT a` -> `SELECT DISTINCT a`, of the outermost SELECT; and
    `distinct_values` of its counts: `count(a)` -> `count(DISTINCT a)`.

    Reason: "the countries of the singers" may name a country once.
    """
    select = scopes.tree
    if not isinstance(select, exp.Select):
        return
    is_cut = select.args.get("limit") is not None and select.args.get("order") is not None
    if not (select.args.get("distinct") or is_cut or has_unique_rows(select, scopes)):
        with _each_row_once(select):
            yield "distinct_rows"
    for count in _list_counts(select):
        counted = scopes.find_direct(count.this)
        # the values of a key differ, unless a join repeats them
        is_alone = counted is not None and is_key(counted.table, counted.column)
        if counted is not None and (select.args.get("joins") or not is_alone):
            with with_distinct_values(count):
                yield "distinct_values"


def _each_row_once(select: exp.Select) -> AbstractContextManager[None]:
    """Give a SELECT DISTINCT; or groups of equal rows, where PostgreSQL refuses to sort rows that
    are distinct by what is not shown."""
    shown = [output.unalias() for output in select.expressions]
    order, group = sort_groups(select, shown), exp.Group(expressions=[key.copy() for key in shown])
    is_refused = spoken_engine() == POSTGRES and order != select.args.get("order")
    is_plain = all(select.args.get(name) is None for name in ("group", "having", "windows"))
    is_plain &= not any(map(is_star, shown))
    if is_refused and is_plain and not any(key.find(exp.AggFunc, exp.Window) for key in shown):
        return changed(select, group=group, order=order)
    return changed(select, distinct=exp.Distinct())


def _list_counts(select: exp.Select) -> list[exp.Count]:
    return [column for column in list_shown(select) if isinstance(column, exp.Count)]


def _show_each_once(select: exp.Select, scopes: Scopes) -> Steps:
    shown = scopes.find_all_direct(select.expressions)
    if not any(map(scopes.is_label, shown)) or len({column.source for column in shown}) != 1:
        return
    key = find_one_key(shown[0].table)
    if key is not None:
        keys: list[exp.Expr] = [shown[0].beside(key).write()]
        order = select.args.get("order")
        if not speaks_sqlite():  # other engines refuse to show and sort by what is not grouped
            keys += [column.write() for column in shown]
            order = sort_groups(select, [output.unalias() for output in select.expressions])
        group = exp.Group(expressions=keys)
        with changed(select, distinct=None, group=group, order=order):
            yield "each_thing_once"


def _count_things(count: exp.Count, name: exp.Expr, scopes: Scopes) -> Steps:
    named = scopes.find_direct(name)
    key = find_one_key(named.table) if named is not None and scopes.is_label(named) else None
    if named is not None and key is not None:
        with count_once([count], named.beside(key).write()):
            yield "each_thing_once"


def read_nulls(scopes: Scopes, question_text: str) -> Steps:
    """Yield `without_null`: `GROUP BY town` -> `WHERE NOT town IS NULL GROUP BY town`, and the same
    for what INTERSECT or EXCEPT shows; `counted_rows`: `count(name)` -> `count(*)`; and
    `counted_names`, the other way round.

    Reason: "which cities have two employees" asks for cities, and NULL is none.
    """
    for group in scopes.nodes.find_all(exp.Group):
        if isinstance(group.parent, exp.Select):
            yield from _leave_out(group.parent, group.expressions, scopes)
    for node in scopes.nodes.find_all(exp.Intersect, exp.Except):
        if isinstance(node.this, exp.Select) and node.this.args.get("group") is None:
            yield from _leave_out(node.this, list_shown(node.this), scopes)
    for count in scopes.nodes.find_all(exp.Count):
        yield from _count_otherwise(count, scopes)


def _leave_out(select: exp.Expr, columns: list[exp.Expr], scopes: Scopes) -> Steps:
    nullable = [column for column in columns if _is_nullable(column, scopes)]
    if nullable:
        tests = [column.copy().is_(exp.null()).not_() for column in nullable]
        with changed(select, where=add_condition(select, "where", exp.and_(*tests))):
            yield "without_null"


def _count_otherwise(count: exp.Count, scopes: Scopes) -> Steps:
    if not isinstance(count.this, exp.Star):
        counted = scopes.find_direct(count.this)
        if counted is not None and scopes.is_label(counted) and is_nullable(counted.column):
            with changed(count, this=exp.Star()):
                yield "counted_rows"
        if counted is None or not is_key(counted.table, counted.column):
            return
    select = count.parent_select
    for column in list_columns(scopes.scope_of(select)) if isinstance(select, exp.Select) else ():
        if is_nullable(column.column) and scopes.is_label(column):
            with changed(count, this=column.write()):
                yield "counted_names"


def _is_nullable(column: exp.Expr, scopes: Scopes) -> bool:
    direct = scopes.find_direct(column)
    return direct is not None and is_nullable(direct.column)


def read_set_members(scopes: Scopes, question_text: str) -> Steps:
    """Yield `members_by_key`: `A EXCEPT B` of names -> A where the key is not among those of B; and
    each row of these once, if A joins tables, which may repeat them.

    Reason: "the names of the singers without a concert" means singers, and one of them may have the
    name of a singer who has one.
    """
    node = scopes.tree
    if not isinstance(node, exp.Except | exp.Intersect) or node.args.get("with_") is not None:
        return
    left, right = node.this, node.expression
    own, other = _find_members(left, scopes), _find_members(right, scopes)
    if own is None or other is None or own.table is not other.table:
        return
    if isinstance(node, exp.Intersect) and not (left.args.get("joins") and right.args.get("joins")):
        return  # no row has two values in one column
    key = find_one_key(own.table)
    if key is None:
        return
    for is_once in (False, True) if left.args.get("joins") else (False,):
        own_key, other_key = own.beside(key).write(), other.beside(key).write()
        with compare_keys(node, own_key, other_key, is_once=is_once):
            yield "members_by_key"


def _find_members(side: exp.Expr, scopes: Scopes) -> DirectColumn | None:
    """The name that a plain SELECT shows, where all that it shows is of one table, and no key."""
    if not isinstance(side, exp.Select) or any(side.args.get(name) for name in _CLAUSES):
        return None
    shown = scopes.find_all_direct(side.expressions)
    if len({column.source for column in shown}) != 1:
        return None
    if {column.column.name for column in shown} >= set(list_key(shown[0].table)):
        return None
    return next(filter(scopes.is_label, shown), None)
