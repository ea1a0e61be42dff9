"""The tables and columns that a query reads, by its text and the schema."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from answerkey.engines.names import POSTGRES
from answerkey.engines.schema import Schema, Table

Reads = set[tuple[str, str]]


def list_reads(sql: str, schema: Schema) -> Reads | None:
    """Return (table, column) of everything that a query reads, in lower case; the column is "" if
    only rows are read. A view is read, and so is all that it reads. None if the text is not
    understood.

    If names cannot be resolved, a column of any table that the query names counts as read.
    """
    try:
        tree = sqlglot.parse_one(sql, read=POSTGRES)
    except (SqlglotError, RecursionError):
        return None
    try:
        reads = _resolve(tree.copy(), schema)
    except (SqlglotError, RecursionError, KeyError, AttributeError):
        reads = {*_guess(tree, schema)}
    for name in {name for name, _ in reads}:
        table = schema.find_table(name)
        if table is not None and table.is_view:
            reads |= list_reads(table.sql, schema) or set()
    return reads


def _resolve(tree: exp.Expr, schema: Schema) -> Reads:
    named = {table.name: {c.name: c.type for c in table.columns} for table in schema.tables}
    plain: dict[str, object] = {name: columns for name, columns in named.items() if "." not in name}
    qualified = qualify(
        tree,
        schema=plain,
        dialect=POSTGRES,
        quote_identifiers=False,
        validate_qualify_columns=True,
    )
    reads: Reads = set()
    for scope in traverse_scope(qualified):
        tables = {
            alias: found
            for alias, source in scope.sources.items()
            if isinstance(source, exp.Table) and (found := _find(source, schema)) is not None
        }
        read = {(tables[c.table].name, c.name) for c in scope.columns if c.table in tables}
        reads |= {(table.lower(), column.lower()) for table, column in read}
        rest = {table.name for table in tables.values()} - {table for table, _ in read}
        reads |= {(table.lower(), "") for table in rest}
    return reads


def _guess(tree: exp.Expr, schema: Schema) -> Iterator[tuple[str, str]]:
    names = {column.name.lower() for column in tree.find_all(exp.Column)}
    has_star = any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star))
    for source in tree.find_all(exp.Table):
        table = _find(source, schema)
        if table is None:
            continue
        yield (table.name.lower(), "")
        for column in table.columns:
            if has_star or column.name.lower() in names:
                yield (table.name.lower(), column.name.lower())


def _find(source: exp.Table, schema: Schema) -> Table | None:
    full = f"{source.db}.{source.name}" if source.db else source.name
    return schema.find_table(full) or schema.find_table(source.name)
