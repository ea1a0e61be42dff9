"""Rewrites of a query that ask the same question a little otherwise; the tree given stays as it is.

`SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n` -> its sort key as a column of its own:
`SELECT a, count(*) AS n, (count(*)) FROM t GROUP BY a ORDER BY n`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlglot import exp

from answerkey.sql.parser import sqlite_dialect
from answerkey.sql.scopes import Scopes

SHOWN_CHARACTERS = 200  # of SQL that stands as evidence


def to_sql(tree: exp.Expression) -> str:
    """The text of a tree in SQLite's dialect. Only what SQLite does not have (QUALIFY, DISTINCT ON)
    would need the copy that sqlglot makes by default, which takes longer than writing."""
    return tree.sql(dialect=sqlite_dialect(), copy=False)


def show_sql(tree: exp.Expression) -> str:
    """The text of a tree as evidence: its first 200 characters."""
    return to_sql(tree)[:SHOWN_CHARACTERS]


def copy_with(
    tree: exp.Expression, nodes: Iterable[exp.Expression]
) -> tuple[exp.Expression, list[exp.Expression]]:
    """Return a copy of the tree, and its nodes in the places of the given ones."""
    wanted = [id(node) for node in nodes]
    copy = tree.copy()
    twins = {id(original): twin for original, twin in zip(tree.walk(), copy.walk(), strict=True)}
    return copy, [twins[node] for node in wanted]


def inline_aliases(expression: exp.Expression, scopes: Scopes) -> exp.Expression:
    """A copy of an expression of ORDER BY, HAVING or GROUP BY for a select list: each name of a
    result column is replaced by what that column computes."""
    copy = expression.copy()
    pairs = zip(list(expression.find_all(exp.Column)), list(copy.find_all(exp.Column)), strict=True)
    for column, twin in pairs:
        found = scopes.resolve(column)
        if found is not None and found.is_alias and found.expression is not None:
            inner = exp.Paren(this=found.expression.copy())
            if twin is copy:
                return inner
            twin.replace(inner)
    return copy


def write_with(query: exp.Query, **clauses: Any) -> str:
    """The text of a query with other clauses; None leaves one out. The query has its own again
    afterwards: a copy would take longer."""
    own = dict(query.args)
    try:
        for name, clause in clauses.items():
            query.set(name, clause)
        return to_sql(query)
    finally:
        query.args.clear()
        query.args.update(own)


def make_limit(rows: int) -> exp.Limit:
    return exp.Limit(expression=exp.Literal.number(rows))


def unwrap(tree: exp.Expression) -> exp.Expression:
    """The query inside parentheses that say nothing."""
    while isinstance(tree, exp.Subquery | exp.Paren) and not tree.args.get("order"):
        tree = tree.this
    return tree
