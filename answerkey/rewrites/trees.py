"""Changes of a tree that last as long as a `with`: no copy of the whole tree is made.

>>> tree = parse_sql("SELECT a FROM t LIMIT 2")    # doctest: +SKIP
>>> with changed(tree, limit=None):                # doctest: +SKIP
...     tree.sql()
'SELECT a FROM t'
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import islice
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.engines.column_types import find_kind
from answerkey.engines.database import Row
from answerkey.engines.schema import Column, Table
from answerkey.sql.keys import list_key
from answerkey.sql.query_tree import has_grouping_sets, puts_null_first, spoken_engine, to_sql
from answerkey.sql.scopes import Scopes

FindRows = Callable[..., list[Row] | None]  # the rows of a query on the question's database
Steps = Generator[str, None, None]  # the name of each change, while it lasts


class Change(NamedTuple):
    """The name of a change, and the text of the query under it."""

    name: str
    sql: str


@contextmanager
def changed(node: exp.Expr, **args: Any) -> Iterator[None]:
    """The node has other arguments; None leaves one out. Pass a copy of a node that is elsewhere in
    the tree."""
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
def replaced(node: exp.Expr, other: exp.Expr) -> Iterator[None]:
    """Another node has the place of one; it may hold copies of its parts."""
    node.replace(other)
    try:
        yield
    finally:
        other.replace(node)


@contextmanager
def together(changes: Iterable[AbstractContextManager[None]]) -> Iterator[None]:
    """Make several changes of one tree at once. None of them is below the node of another."""
    with ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        yield


def without(items: list[Any], index: int) -> list[Any]:
    """The list without the item at an index."""
    return items[:index] + items[index + 1 :]


def write_changes(scopes: Scopes, steps: list[Steps], *, most: int) -> list[Change]:
    """The changes of a query, each text once, and not the query's own; at most `most` of each of
    the `steps`."""
    own = to_sql(scopes.tree)
    names_by_text: dict[str, str] = {}
    with _rooted(scopes) as root:
        for changes in steps:
            with closing(changes):
                for name in islice(changes, most):
                    names_by_text.setdefault(to_sql(root.this), name)
    return [Change(name, text) for text, name in names_by_text.items() if text != own]


def write_change(scopes: Scopes, change: AbstractContextManager[None]) -> str:
    """The text of a query under one change, as a doubt writes its repair.

    `write_change(scopes, changed(select, limit=None))` for `SELECT a FROM t LIMIT 2` ->
    `SELECT a FROM t`
    """
    with _rooted(scopes) as root, change:
        return to_sql(root.this)


@contextmanager
def _rooted(scopes: Scopes) -> Iterator[exp.Paren]:
    """Give a node above the tree, so that the tree itself can be replaced. Scopes resolves all
    names first and remembers them, since a changed tree says something else."""
    for column in scopes.nodes.find_all(exp.Column):
        scopes.resolve(column)
    for scope in scopes.select_scopes():
        scopes.outputs(scope.select)
    try:
        yield exp.Paren(this=scopes.tree)
    finally:
        scopes.tree.pop()


def is_within(node: exp.Expr | None, other: exp.Expr) -> bool:
    """Whether a node is another one, or below it."""
    while node is not None and node is not other:
        node = node.parent
    return node is not None


def add_condition(select: exp.Expr, clause: str, condition: exp.Expr) -> exp.Where | exp.Having:
    """The WHERE or HAVING of a SELECT with one more condition."""
    own = select.args.get(clause)
    if own is not None:
        before = own.this.copy()
        before = exp.Paren(this=before) if isinstance(before, exp.Or) else before
        condition = exp.And(this=before, expression=condition)
    return exp.Where(this=condition) if clause == "where" else exp.Having(this=condition)


def list_others(table: Table, column: Column, *, is_any: bool, most: int) -> list[Column]:
    """The columns of the same kind (of any, if `is_any`), the nearest in the table first."""
    column_index = table.columns.index(column)
    kind = find_kind(column.type, spoken_engine())
    others = [
        (abs(index - column_index), index, other)
        for index, other in enumerate(table.columns)
        if index != column_index and (is_any or find_kind(other.type, spoken_engine()) == kind)
    ]
    return [other for _, _, other in sorted(others, key=lambda other: other[:2])[:most]]


def order_by(order: exp.Order, terms: list[exp.Ordered]) -> exp.Order:
    """An ORDER BY with other terms. That of an aggregate holds what is aggregated, such as `a` of
    `list(a ORDER BY b)`."""
    aggregated = order.args.get("this")
    return exp.Order(this=None if aggregated is None else aggregated.copy(), expressions=terms)


def reverse(term: exp.Ordered, *, nulls_last: bool = False) -> exp.Ordered:
    """A term of ORDER BY in the other direction. NULL comes where the engine puts it: SQLite first,
    and last where the order is descending; with `nulls_last` it is last in both."""
    is_descending = not term.args.get("desc")
    is_null_first = puts_null_first(descending=is_descending) and not nulls_last
    return exp.Ordered(this=term.this.copy(), desc=is_descending, nulls_first=is_null_first)


# Rows of a SELECT: who uses them, and whether equal ones count, or can be.


def list_shown(select: exp.Expr) -> list[exp.Expr]:
    """The expressions that a SELECT shows, without their aliases."""
    return [column.unalias() for column in select.expressions]


def find_user(query: exp.Expr) -> exp.Expr | None:
    """Find the node that uses a query's rows, around its parentheses; None at the top."""
    node = query.parent
    while isinstance(node, exp.Subquery | exp.Paren):
        node = node.parent
    return node


def is_counted_once(query: exp.Expr) -> bool:
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
        if has_grouping_sets(group):
            return False
        texts = {to_sql(column).lower() for column in shown}
        return all(to_sql(key).lower() in texts for key in group.expressions)
    if any(isinstance(column, exp.AggFunc) for column in shown):
        return True
    sources = list(scopes.scope_of(select).sources.values())
    if len(sources) != 1 or sources[0].table is None:
        return False
    columns = [scopes.find_direct(column) for column in shown]
    names = {column.column.name for column in columns if column is not None}
    key = list_key(sources[0].table)
    return bool(key) and names.issuperset(key)
