"""Members of FROM: joined by an outer join, or not joined at all."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, is_within
from answerkey.sql.conditions import join_parts, list_parts
from answerkey.sql.query_tree import is_star
from answerkey.sql.scopes import Scope, Scopes, Source


def toggle_outer_joins(scopes: Scopes) -> Steps:
    """Yield `join_type`: `a JOIN b ON ...` -> `a LEFT JOIN b ON ...`, and the other way round."""
    for scope in scopes.select_scopes():
        for join in scope.select.args.get("joins") or []:
            if join.args.get("on") or join.args.get("using"):
                with changed(join, side=None if join.side else "LEFT", kind=None):
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
