"""Readings of groups: by a name, or by the key of what has it; with counts of zero, or without."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, list_shown, replaced
from answerkey.sql.conditions import list_equalities
from answerkey.sql.keys import is_key, list_key
from answerkey.sql.scopes import DirectColumn, Scopes, Source, write_column
from answerkey.sqlite.schema import fold_name


def read_zero_counts(scopes: Scopes, question_text: str) -> Steps:
    """with_zero_counts: LEFT JOIN in place of JOIN, from the table whose things are counted by; and
    without_zero_counts, the other way round.

    Reason: "the number of concerts of each stadium" does not say whether one without concerts is
    shown; nor does "fewer than two" or "the fewest" say that there is one at least.
    """
    for group in scopes.nodes.find_all(exp.Group):
        select = group.parent
        if not isinstance(select, exp.Select):
            continue
        joins = select.args.get("joins") or []
        sources = list(scopes.scope_of(select).sources.values())
        # of more tables, nobody knows which of the joins should keep rows
        is_count = len(joins) == 1 and len(sources) == 2 and select.find(exp.Count) is not None
        if not is_count or _is_of_the_most(select):
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
    own, other = ends.get(parent), ends.get(child)
    if own is None or other is None or not is_key(own.table, own.column):
        return
    where = select.args.get("where")
    named = [*select.expressions, *([where] if where is not None else [])]
    resolved = [scopes.resolve(column) for node in named for column in node.find_all(exp.Column)]
    if any(resolution is not None and resolution.source is child for resolution in resolved):
        return
    keys = []
    for key in select.args["group"].expressions:
        grouped = scopes.find_direct(key)
        if grouped is None or (grouped.source is child and not grouped.is_same(other)):
            return
        keys.append(own.write() if grouped.source is child else key.copy())
    copy = select.copy()
    copy.set("from_", exp.From(this=parent.node.copy()))
    copy.set("joins", [exp.Join(this=child.node.copy(), side="LEFT", on=on.copy())])
    copy.set("group", exp.Group(expressions=keys))
    for count in list(copy.find_all(exp.Count)):
        if isinstance(count.this, exp.Star) and count.parent_select is copy:
            count.set("this", other.write())
    with replaced(select, copy):
        yield "with_zero_counts"


def _is_of_the_most(select: exp.Select) -> bool:
    """Whether LIMIT takes the greatest groups: none of these has a count of zero."""
    order = select.args.get("order")
    if order is None or select.args.get("limit") is None:
        return False
    return bool(order.expressions[0].args.get("desc"))


def _find_ends(condition: exp.Expr, scopes: Scopes) -> dict[Source, DirectColumn]:
    """The column of each table in `a.id = b.a_id`, by the table's source; {} of what is more."""
    if not isinstance(condition, exp.EQ):
        return {}
    columns = scopes.find_all_direct((condition.this, condition.expression))
    return {column.source: column for column in columns}


def read_groupings(scopes: Scopes, question_text: str) -> Steps:
    """grouped_by_key in place of a name, where the query joins something to that key;
    grouped_by_name in place of another key, where the answer shows the name.

    Reason: "for each stadium" means a stadium, and two stadiums may have one name; but the answer
    shows names, and a reader may take a name for the stadium.
    """
    for group in scopes.nodes.find_all(exp.Group):
        keys = group.expressions
        columns = [scopes.find_direct(key) for key in keys]
        for key_index, label in enumerate(columns):
            if label is None or not scopes.is_label(label) or not _is_joined_by_key(label, scopes):
                continue
            copies = [key.copy() for key in keys]
            copies[key_index : key_index + 1] = [
                write_column(label.source, name, label.scope) for name in list_key(label.table)
            ]
            with changed(group, expressions=copies):
                yield "grouped_by_key"
        if len(columns) == 1 and columns[0] is not None and isinstance(group.parent, exp.Select):
            yield from _group_by_name(group, group.parent, columns[0], scopes)


def _group_by_name(
    group: exp.Group, select: exp.Select, key: DirectColumn, scopes: Scopes
) -> Steps:
    shown = [
        (node, column)
        for node in list_shown(select)
        if (column := scopes.find_direct(node)) is not None
    ]
    is_named = any(scopes.is_label(column) for _, column in shown)
    is_shown = any(column.is_same(key) for _, column in shown)
    if is_of_thing(key, scopes) and is_named and not is_shown:
        with changed(group, expressions=[node.copy() for node, _ in shown]):
            yield "grouped_by_name"


def is_of_thing(column: DirectColumn, scopes: Scopes) -> bool:
    """Whether a column stands for a thing: it is a key of its table, or refers to another."""
    is_one = (column.column.name,) in column.table.unique_keys
    return is_one or is_key(column.table, column.column) or scopes.refers(column)


def _is_joined_by_key(label: DirectColumn, scopes: Scopes) -> bool:
    """Whether the query joins something to the things of a name: it means these, and not names."""
    key = set(map(fold_name, list_key(label.table)))
    pairs = list_equalities(label.scope.select, scopes)
    joined = {name for pair in pairs for source, name in pair if source is label.source}
    return bool(key) and key <= joined
