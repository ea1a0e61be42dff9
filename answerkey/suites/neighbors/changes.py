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
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.sql.parser import parse_sql
from answerkey.sql.query_rewrites import to_sql
from answerkey.sql.scopes import Scopes

Steps = Generator[str, None, None]  # the name of each change, while it lasts


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


def write_changes(scopes: Scopes, steps: list[Steps], *, most: int) -> list[tuple[str, str]]:
    """The text of the query under each change, with the name of the change; each text once, and
    not the query's own. `most` bounds the changes of each of the `steps`. There is none where
    sqlglot writes the query itself as what does not parse."""
    if not _parses(to_sql(scopes.tree)):
        return []
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
    return [(name, text) for text, name in found.items() if text != own]


def _parses(sql: str) -> bool:
    try:
        parse_sql(sql)
    except SqlglotError:
        return False
    return True


def _resolve_all(scopes: Scopes) -> None:
    """Work out what names mean before anything changes; Scopes remembers it."""
    for column in scopes.nodes.find_all(exp.Column):
        scopes.resolve(column)
    for scope in scopes.select_scopes():
        scopes.outputs(scope.select)
