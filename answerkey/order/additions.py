"""Additions: the tolerance between answers of right queries that add floats in another order.

Over millions, `SELECT sum(debit) - sum(credit) FROM entry` gives 1.2e-10 where `sum(debit -
credit)` gives 0.0: both mean 0. No relative tolerance helps, and an absolute one must be small
beside the values that were added. So the query is executed again with each of its additions shifted
by a possible rounding error. The distance that the answer moves is the tolerance. Later steps scale
it, too: if bytes are added and shown in terabytes, the tolerance is in terabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import NamedTuple

from sqlglot import exp

from answerkey.engines.answers import REL_TOL
from answerkey.engines.column_types import OTHER, REAL, find_kind
from answerkey.engines.database import QueryError, Row
from answerkey.engines.names import POSTGRES
from answerkey.order.inspection import Inspection
from answerkey.sql.query_tree import copy_nodes, speaks_sqlite, spoken_engine, to_sql
from answerkey.sql.scopes import Scopes

# Rounding errors, as parts of the sum of all absolute values that were added. A sum of n rows is
# off by about sqrt(n) * 2 ** -54. So is a + b that is summed, since another query sums a and b. Any
# other a + b is off by 2 ** -53. These are larger, to leave room for other databases.
_OF_ROWS, _OF_VALUES = 2.0**-46, 2.0**-49
# An answer that moves by a larger part of itself has lost bits, since its terms cancel.
_CANCELS = 2.0**-44
# The answer moves about twice as far if all errors are doubled. If not, it jumps, as with a
# comparison in a subquery, and the move is no measure; a square root near 0 moves by sqrt(2).
_MOVES_TWICE = (1.2, 3.0)

_ADDS = exp.Add | exp.Sub
_EXACT_CALLS = (
    *(exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max, exp.Abs, exp.Round),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Connector),
)
_SUMS = exp.Sum | exp.Avg | exp.From | exp.Join | exp.CTE  # an outer query may sum, too
# Nodes whose value is proportional to that of a child, or passes it on in a row; with the arguments
# for which this is so, or all if there are none. ROUND is not one: it removes rounding errors.
_PASSES: dict[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(places)
    for kind, *places in (
        (exp.Paren,),
        (exp.Alias,),
        (exp.Add,),
        (exp.Sub,),
        (exp.Mul,),
        (exp.Div,),
        (exp.Neg,),
        (exp.Abs,),
        (exp.Cast, "this"),
        (exp.Sqrt,),
        (exp.Coalesce,),
        (exp.Max,),
        (exp.Min,),
        (exp.Sum,),
        (exp.Avg,),
        (exp.Filter, "this"),
        (exp.Window, "this"),
        (exp.Case, "ifs", "default"),
        (exp.If, "true", "false"),
        (exp.Select, "expressions", "from_", "joins", "with_"),
        (exp.Union, "this", "expression", "with_"),
        (exp.Subquery, "this", "with_"),
        (exp.CTE, "this"),
        (exp.With,),
        (exp.From,),
        (exp.Join, "this"),
    )
}


def find_abs_tol(inspection: Inspection) -> float:
    """Return the absolute tolerance for floats of right answers, to one digit. It is 0.0 if the
    query adds nothing, or only whole numbers, or if nothing that it adds cancels.

    It is the same for all columns, and stays small beside the values of columns that need none. It
    is 0.0, too, if it cannot be measured: the query takes too much, or its rows depend on a last
    bit.
    """
    if float not in {type(value) for row in inspection.rows for value in row}:
        return 0.0
    additions = [
        addition
        for addition in _list_additions(inspection.tree)
        if not _is_exact(addition.node, inspection.scopes)
    ]
    if not additions:
        return 0.0
    columns = _read_floats(inspection.rows)
    moves = _measure(inspection, additions, columns, 1)
    cancelling = [number for number, move in enumerate(moves) if move.cancels]
    if not cancelling:
        return 0.0
    doubled = _measure(inspection, additions, columns, 2)
    least, most = _MOVES_TWICE
    tolerances = [
        moves[number].size
        for number in cancelling
        if doubled and least <= doubled[number].size / moves[number].size <= most
    ]
    others = [
        abs(value)
        for number, column in enumerate(columns)
        for value in column
        if number not in cancelling and value
    ]
    bound = REL_TOL * min(others, default=float("inf"))
    return float(f"{min(max(tolerances, default=0.0), bound):.0e}")


class _Addition(NamedTuple):
    """A chain of + and -, or an aggregate that adds, with its argument.

    part: its rounding error, as a part of all that it adds. The sign is that with which the
        addition enters the answer, so that the errors of two additions do not cancel.
    """

    node: exp.Expr
    argument: exp.Expr | None
    part: float


def _list_additions(tree: exp.Expr) -> Iterator[_Addition]:
    """Yield the additions that enter a selected column, outer ones first."""
    for node in tree.walk():
        argument = _read_argument(node)
        is_chain = isinstance(node, _ADDS) and not isinstance(_skip_parens(node), _ADDS)
        if (is_chain or argument is not None) and (way := _find_way(node)):
            sign, is_summed = way
            part = _OF_ROWS if is_summed or argument is not None else _OF_VALUES
            yield _Addition(node, argument, sign * part)


def _is_exact(node: exp.Expr, scopes: Scopes) -> bool:
    """Return whether an addition is known to be one of whole numbers or decimals, which other
    engines than SQLite add exactly."""
    return not speaks_sqlite() and all(_keeps_exact(part, scopes) for part in node.walk())


def _keeps_exact(node: exp.Expr, scopes: Scopes) -> bool:
    if isinstance(node, exp.Column):
        resolution = scopes.resolve(node)
        column = resolution.column if resolution is not None else None
        return column is not None and find_kind(column.type, spoken_engine()) not in (REAL, OTHER)
    if isinstance(node, exp.Cast):
        return find_kind(to_sql(node.to), spoken_engine()) not in (REAL, OTHER)
    if isinstance(node, exp.Div):
        return spoken_engine() == POSTGRES
    return isinstance(node, _EXACT_CALLS) or not isinstance(node, exp.Func | exp.Query)


def _skip_parens(node: exp.Expr) -> exp.Expr | None:
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return parent


def _read_argument(call: exp.Expr) -> exp.Expr | None:
    """Return the argument of an aggregate that adds, with DISTINCT; None for any other node."""
    argument: exp.Expr | None = None
    if isinstance(call, exp.Sum | exp.Avg):
        argument = call.this
    elif _is_total(call) and call.expressions:
        argument = call.expressions[0]
    return argument.expressions[0] if isinstance(argument, exp.Distinct) else argument


def _is_total(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == "total"


def _find_way(node: exp.Expr) -> tuple[int, bool] | None:
    """Return the sign with which a node enters the answer, and whether it may be summed on its way;
    None if the answer is not proportional to it."""
    sign, is_summed = 1, False
    while (parent := node.parent) is not None:
        places = frozenset[str]() if _is_total(parent) else _PASSES.get(type(parent))
        if places is None or (places and node.arg_key not in places):
            return None
        is_right = isinstance(parent, exp.Sub | exp.Div) and node.arg_key == "expression"
        if is_right or isinstance(parent, exp.Neg):
            sign = -sign
        is_summed |= isinstance(parent, _SUMS) or _is_total(parent)
        node = parent
    return sign, is_summed


class _Move(NamedTuple):
    """How far the floats of a column move, and whether one of them has lost bits."""

    size: float
    cancels: bool


def _measure(
    inspection: Inspection, additions: list[_Addition], columns: list[list[float]], scale: int
) -> list[_Move]:
    """Return how far each column moves; [] if the query fails, or has other rows."""
    try:
        rows = inspection.database.execute(_shift(inspection.tree, additions, scale))
    except QueryError:
        return []
    moved = _read_floats(rows)
    if list(map(len, columns)) != list(map(len, moved)):
        return []
    moves = []
    for column, other in zip(columns, moved, strict=True):
        pairs = [(abs(b - a), abs(a)) for a, b in zip(column, other, strict=True)]
        size = max((distance for distance, _ in pairs), default=0.0)
        moves.append(_Move(size, any(distance > _CANCELS * value for distance, value in pairs)))
    return moves


def _read_floats(rows: list[Row]) -> list[list[float]]:
    """Return the floats of each column, sorted: rows that nearly tie may change places."""
    return [
        sorted(value for value in column if type(value) is float)
        for column in zip(*rows, strict=True)
    ]


def _shift(tree: exp.Expr, additions: list[_Addition], scale: int) -> str:
    """Return the query with each addition shifted by its rounding error times a scale."""
    twins = copy_nodes(tree)
    for addition in reversed(additions):  # inner ones first
        call = _with_over(addition.node)
        error = _write_error(addition, call, scale)
        twin, parentheses = twins[id(call)], exp.Paren()
        twin.replace(parentheses)
        parentheses.set("this", exp.Add(this=exp.Paren(this=twin), expression=error))
    return to_sql(twins[id(tree)])


def _with_over(node: exp.Expr) -> exp.Expr:
    """Return a call with the FILTER and the OVER that follow it."""
    while isinstance(node.parent, exp.Filter | exp.Window) and node.arg_key == "this":
        node = node.parent
    return node


def _write_error(addition: _Addition, call: exp.Expr, scale: int) -> exp.Expr:
    """Return the error of an addition: a part of all that it adds; 0 if that is whole, which keeps
    the type of a whole sum."""
    node, argument, part = addition
    added: exp.Expr
    if argument is None:
        sizes: list[exp.Expr] = list(map(_write_size, _list_operands(node)))
        is_exact: exp.Expr = exp.and_(*map(_is_whole, sizes))
        added = reduce(_add, sizes)
    else:
        size = _write_size(argument)
        every = exp.Min if speaks_sqlite() else exp.LogicalAnd
        is_exact = _replace_call(call, node, every(this=exp.Paren(this=_is_whole(size))))
        total: exp.Expr = exp.Anonymous(this="total", expressions=[size])
        if isinstance(node, exp.Avg):
            total = exp.Avg(this=size)
        elif not speaks_sqlite():
            total = exp.Sum(this=size)
        added = _replace_call(call, node, total)
    factor = exp.Literal.number(repr(abs(part * scale)))
    error = exp.Mul(
        this=exp.Paren(this=added),
        expression=exp.Paren(this=exp.Neg(this=factor)) if part < 0 else factor,
    )
    branch = exp.If(this=is_exact, true=exp.Literal.number(0))
    return exp.Case(ifs=[branch], default=error)


def _add(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.Add(this=left, expression=right)


def _list_operands(node: exp.Expr) -> list[exp.Expr]:
    inner = node.unnest()
    if not isinstance(inner, _ADDS):
        return [inner]
    return _list_operands(inner.this) + _list_operands(inner.expression)


def _write_size(node: exp.Expr) -> exp.Expr:
    return exp.Abs(this=exp.Paren(this=node.copy()))


def _is_whole(size: exp.Expr) -> exp.Expr:
    whole = "int" if speaks_sqlite() else "bigint"
    cut = exp.Cast(this=size.copy(), to=exp.DataType.build(whole))
    return exp.EQ(this=cut, expression=size.copy())


def _replace_call(call: exp.Expr, node: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return another aggregate of the same rows. OVER gets the whole partition, since a moving sum
    keeps rounding errors of rows that have left it."""
    if call is node:
        return other
    twins = copy_nodes(call)
    twins[id(node)].replace(other)
    whole = twins[id(call)]
    if isinstance(whole, exp.Window):
        whole.set("order", None)
        whole.set("spec", None)
    return whole
