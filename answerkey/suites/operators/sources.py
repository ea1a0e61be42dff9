"""Joins: LEFT JOIN for JOIN and back, and a table less.

`ship JOIN port ON ship.port_id = port.id` -> `ship LEFT JOIN port ON ...`; and `ship`, where the
query says nothing else of ports. A wrong key is in columns.py.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import is_star
from answerkey.sql.scopes import Scope, Scopes, Source
from answerkey.suites.operators.trees import Steps, changed, join_parts, list_parts


def mutate_joins(scopes: Scopes) -> Steps:
    """join_type; join_removed, with the conditions on the table that is left out."""
    for scope in scopes.select_scopes():
        joins = scope.select.args.get("joins") or []
        for place, join in enumerate(joins):
            if not (join.args.get("on") or join.args.get("using")):
                continue
            if join.side:
                with changed(join, side=None, kind=None):
                    yield "join_type"
            elif not _is_used(join, joins[place + 1 :], scopes):
                with changed(join, side="LEFT", kind=None):
                    yield "join_type"
        if joins and _is_plain(scope, joins):
            for source in scope.sources.values():
                yield from _remove(source, scope, scopes)


def _is_used(join: exp.Join, later: list[exp.Join], scopes: Scopes) -> bool:
    """Whether a later join needs a row of the table, so that LEFT JOIN would change nothing."""
    conditions = [other.args["on"] for other in later if other.args.get("on") is not None]
    columns = [column for node in conditions for column in node.find_all(exp.Column)]
    found = [scopes.resolve(column) for column in columns]
    return any(
        what is not None and what.source is not None and what.source.node is join.this
        for what in found
    )


def _is_plain(scope: Scope, joins: list[exp.Join]) -> bool:
    """Whether FROM is a list of members with conditions, all of whose columns are named."""
    if any(join.method or join.side or join.args.get("using") for join in joins):
        return False
    if any(map(is_star, scope.select.expressions)):
        return False
    members = [scope.select.args["from_"].this, *(join.this for join in joins)]
    found = [source.node for source in scope.sources.values()]
    return len(members) == len(found) and all(
        left is right for left, right in zip(members, found, strict=True)
    )


def _remove(source: Source, scope: Scope, scopes: Scopes) -> Steps:
    select = scope.select
    joins = select.args["joins"]
    where = select.args.get("where")
    roots = [join.args["on"] for join in joins if join.args.get("on") is not None]
    roots += [where.this] if where is not None else []
    parts = [part for root in roots for part in list_parts(root, exp.And)]
    named = [
        column
        for column in scopes.nodes.find_all(exp.Column)
        if (found := scopes.resolve(column)) is not None and found.source is source
    ]
    dropped = {id(part) for part in parts if any(_is_within(name, part) for name in named)}
    gone = [part for part in parts if id(part) in dropped]
    if not all(any(_is_within(name, part) for part in gone) for name in named):
        return
    tied: set[int] = set()
    for part in gone:
        tied |= _list_sources(part, scope, scopes) - {id(source)}
    if len(tied) != 1:
        return  # without it, the others would not be joined
    members = [member.node for member in scope.sources.values() if member is not source]
    kept = [part.copy() for part in parts if id(part) not in dropped]
    new_joins = [exp.Join(this=member.copy()) for member in members[1:]]
    new_where = exp.Where(this=join_parts(exp.And, kept)) if kept else None
    start = exp.From(this=members[0].copy())
    with changed(select, from_=start, joins=new_joins or None, where=new_where):
        yield "join_removed"


def _list_sources(node: exp.Expression, scope: Scope, scopes: Scopes) -> set[int]:
    found = [scopes.resolve(column) for column in node.find_all(exp.Column)]
    return {id(what.source) for what in found if what is not None and what.scope is scope}


def _is_within(node: exp.Expression | None, ancestor: exp.Expression) -> bool:
    while node is not None and node is not ancestor:
        node = node.parent
    return node is not None
