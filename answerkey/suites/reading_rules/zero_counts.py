"""Things of which there are none: a count of what is joined to them gives 0, or leaves them out.

Reason: "the number of concerts of each stadium" does not say whether one without concerts is shown;
nor does "fewer than two" or "the fewest" say that there is one at least.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.resolutions import Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import fold_name
from answerkey.suites.neighbors.changes import Steps, changed, replaced
from answerkey.suites.neighbors.names import find_direct, list_key


def read_zero_counts(scopes: Scopes, question_text: str) -> Steps:
    """with_zero_counts: LEFT JOIN in place of JOIN, from the table whose things are counted by; and
    without_zero_counts, the other way round."""
    for group in scopes.nodes.find_all(exp.Group):
        select = group.parent
        joins = select.args.get("joins") or []
        sources = list(scopes.scope_of(select).sources.values())
        if not joins and len(sources) == 1 and not _is_of_the_most(select):
            yield from _add_parents(select, sources[0], scopes)
        if len(joins) != 1 or len(sources) != 2 or select.find(exp.Count) is None:
            continue
        if _is_of_the_most(select):
            continue
        if joins[0].side == "LEFT":
            with changed(joins[0], side=None, kind=None):
                yield "without_zero_counts"
        elif not (joins[0].side or joins[0].method):
            for parent, child in (sources, sources[::-1]):
                yield from _add_zeros(select, parent, child, scopes)


def _add_zeros(select: exp.Select, parent: Source, child: Source, scopes: Scopes) -> Steps:
    """`FROM child JOIN parent ON child.a = parent.key GROUP BY child.a` ->
    `FROM parent LEFT JOIN child ON child.a = parent.key GROUP BY parent.key`, and count(child.a)"""
    on = select.args["joins"][0].args.get("on")
    ends = _find_ends(on, scopes) if on is not None else {}
    own, other = ends.get(id(parent)), ends.get(id(child))
    if (
        own is None
        or other is None
        or list_key(parent.table) != (find_direct(own, scopes).column.name,)
    ):
        return
    columns = [scopes.resolve(column) for column in _list_named(select)]
    if any(what is not None and what.source is child for what in columns):
        return
    keys = []
    for key in select.args["group"].expressions:
        found = find_direct(key, scopes)
        if found is None or (found.source is child and key.name != other.name):
            return
        keys.append((own if found.source is child else key).copy())
    copy = select.copy()
    copy.set("from_", exp.From(this=parent.node.copy()))
    copy.set("joins", [exp.Join(this=child.node.copy(), side="LEFT", on=on.copy())])
    copy.set("group", exp.Group(expressions=keys))
    for count in list(copy.find_all(exp.Count)):
        if isinstance(count.this, exp.Star) and count.parent_select is copy:
            count.set("this", other.copy())
    with replaced(select, copy):
        yield "with_zero_counts"


def _add_parents(select: exp.Select, child: Source, scopes: Scopes) -> Steps:
    """`SELECT a, count(*) FROM child GROUP BY a` -> `SELECT parent.key, count(child.a) FROM parent
    LEFT JOIN child ON child.a = parent.key GROUP BY parent.key`, where a refers to the parent"""
    keys = [find_direct(key, scopes) for key in select.args["group"].expressions]
    if len(keys) != 1 or keys[0] is None or child.table is None or select.args.get("where"):
        return
    name = fold_name(keys[0].column.name)
    found = [(column, scopes.resolve(column)) for column in select.find_all(exp.Column)]
    others = [column for column, what in found if what is not None and not what.is_alias]
    if any(fold_name(column.name) != name for column in others):
        return
    for key in child.table.foreign_keys:
        if [fold_name(column) for column in key.columns] != [name] or not key.referred:
            continue
        other = exp.column(keys[0].column.name, table=child.name, quoted=True)
        own = exp.column(key.referred[0], table=key.table, quoted=True)
        copy = select.copy()
        for column in list(copy.find_all(exp.Column)):
            if fold_name(column.name) == name:
                column.replace(own.copy())
        for count in list(copy.find_all(exp.Count)):
            count.set("this", other.copy())
        on = exp.EQ(this=other, expression=own)
        copy.set("from_", exp.From(this=exp.Table(this=exp.to_identifier(key.table, quoted=True))))
        copy.set("joins", [exp.Join(this=child.node.copy(), side="LEFT", on=on)])
        with replaced(select, copy):
            yield "with_zero_counts"


def _is_of_the_most(select: exp.Select) -> bool:
    """Whether only the first rows in descending order are shown, which no zero is among."""
    order = select.args.get("order")
    is_cut = order is not None and select.args.get("limit") is not None
    return is_cut and bool(order.expressions[0].args.get("desc"))


def _list_named(select: exp.Select) -> list[exp.Column]:
    """The columns that are shown, or stand in a condition on single rows."""
    where = select.args.get("where")
    nodes = [*select.expressions, *([where] if where is not None else [])]
    return [column for node in nodes for column in node.find_all(exp.Column)]


def _find_ends(condition: exp.Expression, scopes: Scopes) -> dict[int, exp.Column]:
    """The column of each table in `a.id = b.a_id`, by the table's source; {} of what is more."""
    if not isinstance(condition, exp.EQ):
        return {}
    found = [(side, find_direct(side, scopes)) for side in (condition.this, condition.expression)]
    return {id(what.source): side for side, what in found if what is not None}
