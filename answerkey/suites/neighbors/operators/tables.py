"""Tables: another table that has the columns which the query names.

`SELECT count(*) FROM ship` -> `SELECT count(*) FROM "port" AS ship`
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.operands import is_star
from answerkey.sql.resolutions import Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, Table, fold_name
from answerkey.suites.neighbors.changes import Steps, changed

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
