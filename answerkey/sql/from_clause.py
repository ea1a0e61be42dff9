"""The FROM clause as a flat list: its members out of their parentheses, each with its join."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.sql.expression_writer import UnwritableError

_JOIN_ARGS = frozenset(("this", "on", "using", "side", "kind", "method"))
_INNER_KINDS = ("", "INNER", "CROSS")
_WRAPPED = (exp.Table, exp.Subquery)


def walk_from(
    node: exp.Expression, join: exp.Join | None
) -> Iterator[tuple[exp.Expression, exp.Join | None]]:
    """The members of a FROM clause out of their parentheses, each with its join."""
    if isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, _WRAPPED):
        yield from walk_from(node.this, join)
    else:
        yield node, join
    for nested in node.args.get("joins") or ():
        yield from walk_from(nested.this, nested)


def join_conditions(joins: list[exp.Join | None]) -> list[exp.Expression]:
    """The conditions of ON."""
    conditions = [join.args.get("on") for join in joins if join is not None]
    # sqlglot says ON TRUE where the query says nothing.
    return [
        on for on in conditions if on is not None and not (isinstance(on, exp.Boolean) and on.this)
    ]


def is_inner(join: exp.Join | None) -> bool:
    """Whether a join pairs rows by conditions only; the first member of FROM has none."""
    if join is None:
        return True
    check_args(join, _JOIN_ARGS)
    return not (join.side or join.method or join.args.get("using")) and join.kind in _INNER_KINDS


def check_args(node: exp.Expression, known: frozenset[str]) -> None:
    """Make sure that a node has no parts but these.

    Raises:
        UnwritableError: naming one that it has besides.
    """
    for name, value in node.args.items():
        if value and name not in known:
            raise UnwritableError(f"{type(node).__name__} with {name}")
