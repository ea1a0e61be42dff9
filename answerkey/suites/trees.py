"""Changes of a tree that last as long as a `with`: no copy of the whole tree is made.

>>> tree = parse_sql("SELECT a FROM t LIMIT 2")    # doctest: +SKIP
>>> with changed(tree, limit=None):                # doctest: +SKIP
...     tree.sql()
'SELECT a FROM t'
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.sql.query_tree import to_sql
from answerkey.sql.scopes import Resolution, Scope, Scopes, Source
from answerkey.sqlite.schema import Column, Table, affinity, fold_name

Steps = Generator[str, None, None]  # the name of each change, while it lasts


class Change(NamedTuple):
    """The name of a change, and the text of the query under it."""

    name: str
    sql: str


@contextmanager
def changed(node: exp.Expression, **args: Any) -> Iterator[None]:
    """The node has other arguments; None leaves one out. A node that stands elsewhere in the tree
    is to be handed over as a copy."""
    own = dict(node.args)
    for name, value in args.items():
        node.set(name, value)
    try:
        yield
    finally:
        node.args.clear()
        node.args.update(own)
        for name in args:
            if own.get(name) is not None:
                node.set(name, own[name])  # which also makes the node their parent again


@contextmanager
def replaced(node: exp.Expression, other: exp.Expression) -> Iterator[None]:
    """Another node stands in the place of one; it may hold copies of its parts."""
    node.replace(other)
    try:
        yield
    finally:
        other.replace(node)


def without(items: list[Any], place: int) -> list[Any]:
    """The list without the item at a place."""
    return items[:place] + items[place + 1 :]


def write_changes(scopes: Scopes, steps: list[Steps], *, most: int) -> list[Change]:
    """The changes of a query, each text once, and not the query's own; at most so many of each of
    the `steps`."""
    _resolve_all(scopes)
    root = exp.Paren(this=scopes.tree)  # so that the tree itself has a place to be replaced in
    found: dict[str, str] = {}
    try:
        own = to_sql(scopes.tree)
        for changes in steps:
            with closing(changes):
                for name in islice(changes, most):
                    found.setdefault(to_sql(root.this), name)
    finally:
        scopes.tree.pop()
    return [Change(name, text) for text, name in found.items() if text != own]


def _resolve_all(scopes: Scopes) -> None:
    """Work out what names mean before anything changes; Scopes remembers it."""
    for column in scopes.nodes.find_all(exp.Column):
        scopes.resolve(column)
    for scope in scopes.select_scopes():
        scopes.outputs(scope.select)


# Conditions of a query: what AND and OR join in WHERE, HAVING and ON.


CONNECTORS = (exp.And, exp.Or)
COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)


def is_within(node: exp.Expression | None, other: exp.Expression) -> bool:
    """Whether a node is another one, or below it."""
    while node is not None and node is not other:
        node = node.parent
    return node is not None


def list_roots(scopes: Scopes) -> Iterator[exp.Expression]:
    """The whole condition of each WHERE, HAVING and ON."""
    for clause in scopes.nodes.find_all(exp.Where, exp.Having):
        yield clause.this
    for join in scopes.nodes.find_all(exp.Join):
        if join.args.get("on") is not None:
            yield join.args["on"]


def list_parts(node: exp.Expression, kind: type[exp.Connector]) -> list[exp.Expression]:
    """What the ANDs (or ORs) at the top of a condition join, from left to right."""
    inner = node.unnest()
    if type(inner) is not kind:
        return [node]
    return list_parts(inner.this, kind) + list_parts(inner.expression, kind)


def list_leaves(node: exp.Expression) -> list[exp.Expression]:
    """The conditions that hold neither AND nor OR, from left to right."""
    inner = node.unnest()
    if not isinstance(inner, CONNECTORS):
        return [inner]
    return list_leaves(inner.this) + list_leaves(inner.expression)


def join_parts(kind: type[exp.Connector], parts: list[exp.Expression]) -> exp.Expression:
    """The parts, joined by AND (or OR) from the left."""
    joined = parts[0]
    for part in parts[1:]:
        joined = kind(this=joined, expression=part)
    return joined


def add_condition(
    select: exp.Expression, clause: str, condition: exp.Expression
) -> exp.Where | exp.Having:
    """The WHERE or HAVING of a SELECT with one more condition."""
    own = select.args.get(clause)
    if own is not None:
        before = own.this.copy()
        before = exp.Paren(this=before) if isinstance(before, exp.Or) else before
        condition = exp.And(this=before, expression=condition)
    return exp.Where(this=condition) if clause == "where" else exp.Having(this=condition)


def is_join_condition(node: exp.Expression, scopes: Scopes) -> bool:
    """Whether a condition is about several members of one FROM.

    Without it, or with its opposite, every row meets every other: any database tells that from the
    gold, and it takes long.
    """
    sources: dict[int, set[int]] = {}
    for column in node.find_all(exp.Column):
        found = scopes.resolve(column)
        if found is not None and found.source is not None:
            sources.setdefault(id(found.scope), set()).add(id(found.source))
    return any(len(found) > 1 for found in sources.values())


# Names of a query: which columns of tables they mean, which columns may stand in their place, and
# which of them are texts in double quotes.


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


def list_columns(scope: Scope) -> Iterator[tuple[Source, Column]]:
    """The columns of the tables in a FROM."""
    for source in scope.sources.values():
        for column in source.table.columns if source.table is not None else ():
            yield source, column


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


# Rows of a SELECT: who uses them, and whether equal ones count, or can be.


def list_shown(select: exp.Expression) -> list[exp.Expression]:
    """The expressions that a SELECT shows, without their aliases."""
    return [column.unalias() for column in select.expressions]


def find_user(query: exp.Expression) -> exp.Expression | None:
    """What uses a query's rows: the node around it and its parentheses; None at the top."""
    node = query.parent
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.parent
    return node


def is_counted_once(query: exp.Expression) -> bool:
    """Whether equal rows of a query count as one where they are used: in IN and EXISTS, and in set
    operations but UNION ALL."""
    user = find_user(query)
    if isinstance(user, exp.SetOperation):
        return bool(user.args.get("distinct")) or is_counted_once(user)
    return isinstance(user, exp.In | exp.Exists)


def has_unique_rows(select: exp.Select, scopes: Scopes) -> bool:
    """Whether no two rows of a SELECT can be equal: there is one row, or it shows all keys of its
    GROUP BY, or the key of its only table."""
    shown = [column.unnest() for column in list_shown(select)]
    group = select.args.get("group")
    if group is not None:
        texts = {to_sql(column).lower() for column in shown}
        return all(to_sql(key).lower() in texts for key in group.expressions)
    if any(isinstance(column, exp.AggFunc) for column in shown):
        return True
    sources = list(scopes.scope_of(select).sources.values())
    if len(sources) != 1 or sources[0].table is None:
        return False
    found = [find_direct(column, scopes) for column in shown]
    names = {what.column.name for what in found if what is not None}
    key = list_key(sources[0].table)
    return bool(key) and names.issuperset(key)
