"""Joins: LEFT JOIN for JOIN and back, and a table less.

`ship JOIN port ON ship.port_id = port.id` -> `ship LEFT JOIN port ON ...`, `port LEFT JOIN ship
ON ...`; and `ship`, where the query says nothing else of ports. A wrong key is in columns.py.
RIGHT JOIN, for which SQLite has no fast plan, is a LEFT JOIN from the other table.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.query_parts import is_star
from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Scope, Scopes, Source
from answerkey.sqlite.schema import Schema, Table, fold_name
from answerkey.suites.operators.trees import Steps, changed, join_parts, list_parts, replaced


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
            if all(join.args.get("on") is not None for join in joins):
                yield from _start_elsewhere(scope, joins)
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


def _start_elsewhere(scope: Scope, joins: list[exp.Join]) -> Steps:
    """All rows of one table are kept: of the first, where there are more than two, or else of the
    second."""
    if len(joins) > 1:
        new = [exp.Join(**{**join.copy().args, "side": "LEFT", "kind": None}) for join in joins]
        with changed(scope.select, joins=new):
            yield "join_type"
        return
    start = scope.select.args["from_"]
    on = joins[0].args["on"].copy()
    join = exp.Join(this=start.this.copy(), side="LEFT", on=on)
    with changed(scope.select, from_=exp.From(this=joins[0].this.copy()), joins=[join]):
        yield "join_type"


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


# Set operations: one side alone, or one SELECT for both.
#
# `SELECT a FROM t WHERE p INTERSECT SELECT a FROM t WHERE q` -> `SELECT a FROM t WHERE p AND q`


_SIMPLE = ("group", "having", "limit", "order", "with_")


def mutate_set_operations(scopes: Scopes) -> Steps:
    """set_side_removed, set_operation_as_condition."""
    for node in scopes.nodes.find_all(exp.Union, exp.Intersect, exp.Except):
        if node.args.get("with_") is None:
            for side in (node.this, node.expression):
                with replaced(node, side.copy()):
                    yield "set_side_removed"
        yield from _merge(node, node.this, node.expression)


def _merge(node: exp.Expression, left: exp.Expression, right: exp.Expression) -> Steps:
    """One SELECT with both conditions, where the sides differ by these alone."""
    if node.args.get("order") or node.args.get("limit") or node.args.get("with_"):
        return
    sides = []
    for side in (left, right):
        if not isinstance(side, exp.Select) or any(side.args.get(name) for name in _SIMPLE):
            return
        if side.args.get("where") is None:
            return
        with changed(side, where=None):
            sides.append(to_sql(side))
    if sides[0].lower() != sides[1].lower():
        return
    parts = [exp.Paren(this=side.args["where"].this.copy()) for side in (left, right)]
    if isinstance(node, exp.Except):
        parts[1] = exp.Not(this=parts[1])
    kind = exp.Or if isinstance(node, exp.Union) else exp.And
    merged = left.copy()
    merged.set("where", exp.Where(this=kind(this=parts[0], expression=parts[1])))
    with replaced(node, merged):
        yield "set_operation_as_condition"


# Tables: another table that has the columns which the query names.
#
# `SELECT count(*) FROM ship` -> `SELECT count(*) FROM "port" AS ship`


_MOST = 2


def mutate_tables(scopes: Scopes) -> Steps:
    """table: those that a foreign key ties to it come first; a query that names no column of it has
    those only."""
    used: dict[int, set[str]] = {}
    for column in scopes.nodes.find_all(exp.Column):
        found = scopes.resolve(column)
        if found is not None and found.source is not None:
            used.setdefault(id(found.source), set()).add(fold_name(column.name))
    for scope in scopes.select_scopes():
        if any(map(is_star, scope.select.expressions)):
            continue
        taken = {id(source.table) for source in scope.sources.values()}
        for source in scope.sources.values():
            if source.table is not None:
                yield from _replace(source, used.get(id(source), set()), taken, scopes.schema)


def _replace(source: Source, used: set[str], taken: set[int], schema: Schema) -> Steps:
    tied = _list_tied(source.table, schema)
    others = [
        table
        for table in (schema.tables if used else tied)
        if id(table) not in taken and used <= {fold_name(column.name) for column in table.columns}
    ]
    others.sort(key=lambda table: not any(table is other for other in tied))
    alias = exp.TableAlias(this=exp.Identifier(this=source.name, quoted=True))
    for table in others[:_MOST]:
        name = exp.Identifier(this=table.name, quoted=True)
        with changed(source.node, this=name, alias=alias):
            yield "table"


def _list_tied(table: Table, schema: Schema) -> list[Table]:
    """The tables that a table refers to, and those that refer to it."""
    names = {fold_name(key.table) for key in table.foreign_keys}
    own = fold_name(table.name)
    return [
        other
        for other in schema.tables
        if fold_name(other.name) in names
        or any(fold_name(key.table) == own for key in other.foreign_keys)
    ]
