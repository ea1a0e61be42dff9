"""Conditions: the parts of a condition that AND or OR joins, and whether a SELECT has one row."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.audit.groupings import read_grouping
from answerkey.sql.scopes import Scopes


def list_parts(condition: exp.Expression, connective: type[exp.Connector]) -> list[exp.Expression]:
    """The conditions that one connective joins, out of their parentheses, from left to right.

    >>> from sqlglot import parse_one
    >>> condition = parse_one("a = 1 AND (b = 2 AND c = 3 OR d = 4)")
    >>> [part.sql() for part in list_parts(condition, exp.And)]
    ['a = 1', 'b = 2 AND c = 3 OR d = 4']
    """
    parts: list[exp.Expression] = []
    waiting = [condition]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, connective):
            waiting += [node.expression, node.this]
        else:
            parts.append(node)
    return parts


def list_chains(scopes: Scopes, connective: type[exp.Connector]) -> Iterator[list[exp.Expression]]:
    """The parts of each condition of a query that one connective joins, the longest ones only."""
    for node in scopes.nodes.find_all(connective):
        parent = node.parent
        while isinstance(parent, exp.Paren):
            parent = parent.parent
        if not isinstance(parent, connective):
            yield list_parts(node, connective)


def is_one_row(select: exp.Select, scopes: Scopes) -> bool:
    """Whether a SELECT aggregates without GROUP BY, so that it has one row at most."""
    return select.args.get("group") is None and read_grouping(select, scopes) is not None
