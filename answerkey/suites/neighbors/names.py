"""Names of a query: which columns of tables they mean, which columns may stand in their place, and
which of them are texts in double quotes."""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.resolutions import Resolution, Scope, Source
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Column, Table, affinity, fold_name


def find_direct(node: exp.Expression, scopes: Scopes) -> Resolution | None:
    """What a node stands for, where that is a column of a table in FROM itself."""
    found = scopes.resolve(node) if isinstance(node, exp.Column) else None
    return found if found is not None and found.is_direct and found.column is not None else None


def is_nullable(column: Column) -> bool:
    """Whether a column may hold NULL; SQLite would allow it in a primary key, which nobody uses."""
    return not (column.is_not_null or column.primary_key)


def is_number(column: Column) -> bool:
    """Whether a column is declared as one of numbers."""
    return affinity(column.type) in ("INTEGER", "REAL", "NUMERIC")


def list_others(table: Table, column: Column, *, is_any: bool, most: int) -> list[Column]:
    """The columns of the same affinity (of any, if `is_any`), the nearest in the table first."""
    place = table.columns.index(column)
    kind = affinity(column.type)
    others = [
        (abs(n - place), n, other)
        for n, other in enumerate(table.columns)
        if n != place and (is_any or affinity(other.type) == kind)
    ]
    return [other for _, _, other in sorted(others, key=lambda other: other[:2])[:most]]


def name_column(column: Column, source: Source, scope: Scope) -> exp.Column:
    """A new node for a column of a source, with the source's name where the FROM has several."""
    is_needed = len(scope.sources) > 1
    return exp.Column(
        this=exp.Identifier(this=column.name, quoted=True),
        table=exp.Identifier(this=source.name, quoted=True) if is_needed else None,
    )


def read_text(node: exp.Expression, scopes: Scopes) -> str | None:
    """The text that a literal holds, also one in double quotes; None where it is none."""
    if isinstance(node, exp.Literal):
        return node.this if node.is_string else None
    return node.name if isinstance(node, exp.Column) and scopes.is_string(node) else None


def list_key(table: Table) -> tuple[str, ...]:
    """The primary key of a table, or its first unique one; () where it has none."""
    return table.unique_keys[0] if table.unique_keys else ()


def is_same_column(left: Resolution | None, right: Resolution | None) -> bool:
    """Whether two names mean one column of one member of FROM."""
    if left is None or right is None or left.column is None or right.column is None:
        return False
    names = fold_name(left.column.name), fold_name(right.column.name)
    return left.source is right.source and names[0] == names[1]


def is_name(found: Resolution) -> bool:
    """Whether a column holds what the rows of its table are called: `name` or `title` is a part of
    its name, or it has the name of its table (one of many: `countries.country`)."""
    column, table = fold_name(found.column.name), fold_name(found.table.name)
    if found.column.primary_key or "id" in column.split("_"):
        return False
    return "name" in column or "title" in column or column in (table, table.rstrip("s"))
