"""Changes of GROUP BY: by a key or by a name; counts with those of zero, or without.

The functions that are called `read_...` make the changes wherever the question may mean them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from sqlglot import exp

from answerkey.engines.schema import fold_name
from answerkey.rewrites.members import toggle_outer_join
from answerkey.rewrites.trees import Steps, changed, list_shown, replaced
from answerkey.sql.conditions import join_parts, list_equalities, list_terms
from answerkey.sql.keys import is_key, list_key
from answerkey.sql.query_tree import speaks_sqlite
from answerkey.sql.scopes import DirectColumn, Scopes, Source, spell_source, write_column


@contextmanager
def group_by_key(
    group: exp.Group, name: exp.Expr | None, key: Iterable[exp.Expr]
) -> Iterator[None]:
    """Group by the columns of a key in place of a name, or beside the rest if that is None.

    `GROUP BY a.name` -> `GROUP BY a.id`; where a bare column is refused, `GROUP BY a.name, a.id`
    """
    kept = group.expressions
    name_index = next((index for index, node in enumerate(kept) if node is name), len(kept))
    copies = [node.copy() for node in kept]
    start = name_index if speaks_sqlite() else name_index + 1
    copies[start : name_index + 1] = key
    with changed(group, expressions=copies):
        yield


@contextmanager
def keep_zero_counts(
    select: exp.Select, things: exp.Expr, key: exp.Column, counted: DirectColumn, scopes: Scopes
) -> Iterator[None]:
    """Count from the things on, so that one without a row has a count of zero.

    `SELECT a.name, count(*) FROM b JOIN a ON b.a_id = a.id WHERE b.n > 1 GROUP BY b.a_id` ->
    `SELECT a.name, count(b.a_id) FROM a LEFT JOIN b ON b.a_id = a.id AND b.n > 1 GROUP BY a.id`

    A condition on what is counted moves to the join: in WHERE it would drop the things again.

    select: FROM holds the things and what is counted, or only what is counted.
    things: the table in FROM, such as `singer AS a`. key: its column, as a query names it.
    counted: the column that refers to the key.
    """
    child = counted.source
    is_added = [*counted.scope.sources.values()] == [child]
    clauses = [select.args.get(name) for name in ("group", "having", "order")]
    nodes = [node for node in (*select.expressions, *clauses) if node is not None]
    columns = [column for node in nodes for column in node.find_all(exp.Column)]
    where = select.args.get("where")
    moved = [_names_source(term, child, scopes) for term in list_terms(where)]
    ons = [join.args.get("on") for join in select.args.get("joins") or ()]
    with ExitStack() as stack:
        for column in columns:
            direct = scopes.find_direct(column)
            is_value = not isinstance(column.find_ancestor(exp.AggFunc, exp.Select), exp.AggFunc)
            if direct is not None and direct.is_same(counted) and is_value:
                stack.enter_context(replaced(column, key.copy()))
        if is_added:  # a name may be one of the things, too
            for column in select.find_all(exp.Column):
                direct = scopes.find_direct(column)
                if direct is not None and direct.source is child and not column.table:
                    own = _write_name(direct.column.name, child)
                    stack.enter_context(replaced(column, own))
            ons = [exp.EQ(this=_write_name(counted.column.name, child), expression=key)]
        for count in select.find_all(exp.Count):
            if count.parent_select is select and not _names_source(count, child, scopes):
                value = _write_name(counted.column.name, child)
                stack.enter_context(changed(count, this=value))
        terms = list_terms(where)
        ons += [term for term, is_moved in zip(terms, moved, strict=True) if is_moved]
        kept = [term for term, is_moved in zip(terms, moved, strict=True) if not is_moved]
        if any(moved):
            where = exp.Where(this=_join_copies(kept)) if kept else None
        on = _join_copies([on for on in ons if on is not None])
        join = exp.Join(this=child.node.copy(), side="LEFT", on=on)
        start = exp.From(this=things.copy())
        stack.enter_context(changed(select, from_=start, joins=[join], where=where))
        yield


def _write_name(name: str, source: Source) -> exp.Column:
    return exp.column(name, table=spell_source(source), quoted=True)


def _names_source(node: exp.Expr, source: Source, scopes: Scopes) -> bool:
    resolved = map(scopes.resolve, node.find_all(exp.Column))
    return any(column is not None and column.source is source for column in resolved)


def _join_copies(parts: list[exp.Expr]) -> exp.Expr:
    copies = [part.copy() for part in parts]
    if len(copies) > 1:
        copies = [exp.Paren(this=copy) if isinstance(copy, exp.Or) else copy for copy in copies]
    return join_parts(exp.And, copies)


def read_zero_counts(scopes: Scopes, question_text: str) -> Steps:
    """Yield `with_zero_counts`: `FROM b JOIN a ON b.a_id = a.id GROUP BY a.id` -> `FROM a LEFT JOIN
    b ON b.a_id = a.id GROUP BY a.id`; and `without_zero_counts`, the other way round.

    Reason: "the number of concerts of each stadium" does not say whether one without concerts is
    shown; nor does "fewer than two" or "the fewest" say that there is one at least.
    """
    for group in scopes.nodes.find_all(exp.Group):
        select = group.parent
        if not isinstance(select, exp.Select):
            continue
        joins = select.args.get("joins") or []
        sources = list(scopes.scope_of(select).sources.values())
        # With more tables it is unknown which of the joins should keep rows.
        is_count = len(joins) == 1 and len(sources) == 2 and select.find(exp.Count) is not None
        if not is_count or _is_of_the_most(select):
            continue
        if joins[0].side == "LEFT":
            with toggle_outer_join(joins[0]):
                yield "without_zero_counts"
        elif not (joins[0].side or joins[0].method):
            for parent, child in (sources, sources[::-1]):
                yield from _read_things(select, parent, child, scopes)


def _read_things(select: exp.Select, parent: Source, child: Source, scopes: Scopes) -> Steps:
    """The counts of each of the things of one table that another refers to, where the query says
    nothing else of that one."""
    on = select.args["joins"][0].args.get("on")
    ends = _find_ends(on, scopes) if on is not None else {}
    own, other = ends.get(parent), ends.get(child)
    if own is None or other is None or not is_key(own.table, own.column):
        return
    where = select.args.get("where")
    named = [*select.expressions, *([where] if where is not None else [])]
    if any(_names_source(node, child, scopes) for node in named):
        return
    for key in select.args["group"].expressions:
        grouped = scopes.find_direct(key)
        if grouped is None or (grouped.source is child and not grouped.is_same(other)):
            return
    with keep_zero_counts(select, parent.node, own.write(), other, scopes):
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
    """Yield `grouped_by_key`: `GROUP BY a.name` -> `GROUP BY a.id`, if the query joins something to
    that key; and `grouped_by_name`, the other way round, if the answer shows the name.

    Reason: "for each stadium" means a stadium, and two stadiums may have one name; but the answer
    shows names, and a reader may take a name for the stadium.
    """
    for group in scopes.nodes.find_all(exp.Group):
        names = group.expressions
        columns = [scopes.find_direct(name) for name in names]
        for name, label in zip(names, columns, strict=True):
            if label is not None and scopes.is_label(label) and _is_joined_by_key(label, scopes):
                key = [
                    write_column(label.source, own, label.scope) for own in list_key(label.table)
                ]
                with group_by_key(group, name, key):
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
    """Whether a column identifies a thing: it is a key of its table, or refers to another."""
    is_one = (column.column.name,) in column.table.unique_keys
    return is_one or is_key(column.table, column.column) or scopes.refers(column)


def _is_joined_by_key(label: DirectColumn, scopes: Scopes) -> bool:
    """Whether the query joins something to the things of a name: it means these, and not names."""
    key = set(map(fold_name, list_key(label.table)))
    pairs = list_equalities(label.scope.select, scopes)
    joined = {name for pair in pairs for source, name in pair if source is label.source}
    return bool(key) and key <= joined
