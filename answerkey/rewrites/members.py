"""Members of FROM: joined by an outer join, by a condition more, or not there at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from sqlglot import exp

from answerkey.engines.schema import fold_name
from answerkey.rewrites.trees import Steps, add_condition, changed, is_within, replaced
from answerkey.sql.conditions import join_parts, list_parts
from answerkey.sql.keys import is_nullable
from answerkey.sql.query_tree import is_star
from answerkey.sql.scopes import DirectColumn, Scope, Scopes, Source


@contextmanager
def toggle_outer_join(join: exp.Join) -> Iterator[None]:
    """`a JOIN b ON ...` -> `a LEFT JOIN b ON ...`, and the other way round."""
    with changed(join, side=None if join.side else "LEFT", kind=None):
        yield


@contextmanager
def join_tables(equalities: Sequence[tuple[exp.Select, list[exp.Expr]]]) -> Iterator[None]:
    """Join the tables of each FROM by conditions.

    `FROM ship, port WHERE port.land = 'UK'` ->
    `FROM ship, port WHERE port.land = 'UK' AND ship.home = port.id`

    equalities: a SELECT before those within it.
    """
    with ExitStack() as stack:
        for select, conditions in reversed(equalities):  # whose WHERE is copied with those within
            condition = join_parts(exp.And, conditions)
            where = add_condition(select, "where", condition)
            stack.enter_context(changed(select, where=where))
        yield


@contextmanager
def leave_out_table(
    select: exp.Select,
    source: Source,
    own: exp.Join,
    twins: Mapping[str, DirectColumn],
    used: Sequence[exp.Column],
    *,
    is_asked: bool = False,
) -> Iterator[None]:
    """Leave out a table, and read its columns where the join finds equal ones.

    `SELECT a.id FROM b JOIN a ON b.a_id = a.id` -> `SELECT b.a_id FROM b`, and with `is_asked`
    `... WHERE NOT b.a_id IS NULL`: the join drops a row that refers to no other.

    own: the join that goes. twins: the equal columns, by the folded names of those of the table.
    used: where the query names columns of the table.
    is_asked: the question asks for rows that refer to the table.
    """
    joins = select.args["joins"]
    nullable = [twin for twin in twins.values() if is_asked and is_nullable(twin.column)]
    start = own.this if own.this is not source.node else select.args["from_"].this
    with ExitStack() as stack:
        for column in used:
            stack.enter_context(replaced(column, twins[fold_name(column.name)].write()))
        rest = [join.copy() for join in joins if join is not own]
        stack.enter_context(changed(select, from_=exp.From(this=start.copy()), joins=rest))
        if nullable:
            test = exp.and_(*(twin.write().is_(exp.null()).not_() for twin in nullable))
            stack.enter_context(changed(select, where=add_condition(select, "where", test)))
        yield


def toggle_outer_joins(scopes: Scopes) -> Steps:
    """Yield `join_type`: `a JOIN b ON ...` -> `a LEFT JOIN b ON ...`, and the other way round."""
    for scope in scopes.select_scopes():
        for join in scope.select.args.get("joins") or []:
            if join.args.get("on") or join.args.get("using"):
                with toggle_outer_join(join):
                    yield "join_type"


def drop_members(scopes: Scopes) -> Steps:
    """Yield `join_removed`: `SELECT a.x FROM a JOIN b ON a.k = b.k WHERE b.y = 1` -> `SELECT a.x
    FROM a`.

    The query names the dropped table in conditions alone, and these go with it.
    """
    for scope in scopes.select_scopes():
        joins = scope.select.args.get("joins") or []
        if joins and _is_plain(scope, joins):
            for source in scope.sources.values():
                yield from _drop_member(source, scope, scopes)


def _is_plain(scope: Scope, joins: list[exp.Join]) -> bool:
    """Whether FROM is a list of members with conditions, all of whose columns are named."""
    if any(join.method or join.side or join.args.get("using") for join in joins):
        return False
    if any(map(is_star, scope.select.expressions)):
        return False
    members = [scope.select.args["from_"].this, *(join.this for join in joins)]
    nodes = [source.node for source in scope.sources.values()]
    return len(members) == len(nodes) and all(
        left is right for left, right in zip(members, nodes, strict=True)
    )


def _drop_member(source: Source, scope: Scope, scopes: Scopes) -> Steps:
    select = scope.select
    joins = select.args["joins"]
    where = select.args.get("where")
    roots = [join.args["on"] for join in joins if join.args.get("on") is not None]
    roots += [where.this] if where is not None else []
    parts = [part for root in roots for part in list_parts(root, exp.And)]
    named = [
        column
        for column in scopes.nodes.find_all(exp.Column)
        if (resolution := scopes.resolve(column)) is not None and resolution.source is source
    ]
    dropped = {id(part) for part in parts if any(is_within(name, part) for name in named)}
    gone = [part for part in parts if id(part) in dropped]
    if not all(any(is_within(name, part) for part in gone) for name in named):
        return
    resolved = [scopes.resolve(column) for part in gone for column in part.find_all(exp.Column)]
    own = (column for column in resolved if column is not None and column.scope is scope)
    tied = {id(column.source) for column in own}
    if len(tied - {id(source)}) != 1:
        return  # without it, the others would not be joined
    members = [member.node for member in scope.sources.values() if member is not source]
    kept = [part.copy() for part in parts if id(part) not in dropped]
    new_joins = [exp.Join(this=member.copy()) for member in members[1:]]
    new_where = exp.Where(this=join_parts(exp.And, kept)) if kept else None
    start = exp.From(this=members[0].copy())
    with changed(select, from_=start, joins=new_joins or None, where=new_where):
        yield "join_removed"
