"""The order of rows: whether it is certain, which rows a LIMIT cuts, and the right answers.

`SELECT name FROM ship ORDER BY weight` over Sun 4, Tern 5 and Kite 5: a right answer has Sun, and
then Kite and Tern in any order. With LIMIT 2 it has Sun, and then one of Kite and Tern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TypedDict

from sqlglot import exp

from answerkey.base.records import Finding, encode_json
from answerkey.engines.answers import Order
from answerkey.engines.database import QueryError, Row, Value
from answerkey.engines.executions import Executions
from answerkey.order.inspection import Inspection, execute_on_copy
from answerkey.order.ties import SHOWN_ROWS, Ties, read_ties, show_rows, typed_row
from answerkey.sql.groupings import read_grouping
from answerkey.sql.query_tree import (
    TooComplexError,
    copy_with,
    find_operand,
    show_sql,
    speaks_sqlite,
    to_sql,
    unwrap,
)
from answerkey.sql.scopes import Scopes


def is_order_certain(inspection: Inspection) -> bool:
    """Return whether a correct answer must keep the sequence of the rows: there is an ORDER BY at
    the top level, and rows that differ never tie on its keys."""
    if unwrap(inspection.tree).args.get("order") is None:
        return False
    ties = read_ties(inspection)
    return ties is None or not ties.has_open_order(inspection.rows)


def read_row_order(inspection: Inspection) -> Order:
    """Return which sequences of the rows are correct, as an `Order`.

    `SELECT name FROM ship ORDER BY weight` over weights 4, 5, 5 and 9 -> [1, 2, 1]

    False without ORDER BY at the top level, if all rows tie, or if ties are unknown. True if rows
    that differ never tie.
    """
    if is_order_certain(inspection):
        return True
    ties = read_ties(inspection)
    if ties is None or not ties.keys:
        return False
    takes = [len(ties.rows_of_run(run, inspection.rows)) for run in ties.runs]
    takes = [take for take in takes if take]
    is_known = sum(takes) == len(inspection.rows) and ties.is_confirmed(inspection.rows)
    return takes if is_known and len(takes) > 1 else False


def find_other_answer(inspection: Inspection) -> list[Row] | None:
    """The rows of the query on the reordered copy of its database, if they are another answer; None
    if they are the same, or if the copy says nothing."""
    return inspection.once(_find_other_answer)


def _find_other_answer(inspection: Inspection) -> list[Row] | None:
    execution = inspection.once(execute_on_copy)
    if execution is None:
        return None
    _, rows = execution
    is_same = inspection.matches(inspection.rows, rows, ordered=is_order_certain(inspection))
    return None if is_same else rows


def list_cuts(inspection: Inspection) -> list[Finding]:
    """Return the findings tie_at_limit and limit_without_order: a LIMIT, or a value taken from
    several rows, leaves out rows that are as good as those it keeps. There is at most one finding
    for the query itself, and one for each subquery whose cut changes the answer."""
    return inspection.once(_list_cuts)


def _list_cuts(inspection: Inspection) -> list[Finding]:
    findings = [_find_cut(read_ties(inspection), inspection.rows)]
    findings += [_find_cut_in_subquery(inspection, query) for query in _list_cutting(inspection)]
    return list(filter(None, findings))


def _list_cutting(inspection: Inspection) -> list[exp.Expr]:
    """Return the subqueries that may leave out rows, by LIMIT, by OFFSET or as a value; and all
    queries with DISTINCT ON, which keeps the first row of each group."""
    scopes = inspection.scopes
    return [
        query
        for query in scopes.nodes.find_all(exp.Select, exp.SetOperation)
        if _list_kept_by(query)
        or (
            query is not unwrap(inspection.tree)
            and (
                any(query.args.get(name) is not None for name in ("limit", "offset"))
                or _is_one_row_of_several(query, scopes)
            )
        )
    ]


def _list_kept_by(query: exp.Expr) -> list[exp.Expr]:
    """Return the expressions of DISTINCT ON."""
    distinct = query.args.get("distinct")
    kept_by = distinct.args.get("on") if isinstance(distinct, exp.Distinct) else None
    return [] if kept_by is None else kept_by.expressions or [kept_by]


def _find_cut(ties: Ties | None, answer: list[Row]) -> Finding | None:
    """Return a finding if rows that tie on the sort keys (all rows, without keys) are on both sides
    of a bound, and do not all look the same in the answer."""
    runs = ties.cut_runs() if ties is not None else []
    if ties is None or not runs:
        return None
    run = runs[0]
    inside = ties.rows_of_run(run, answer)
    left = Counter(map(typed_row, run.rows)) - Counter(map(typed_row, inside))
    shown = {typed_row(row) for row in inside[:SHOWN_ROWS]}
    others = sorted(
        (row for row in run.rows if left[typed_row(row)]),
        key=lambda row: typed_row(row) in shown,  # rows that make a difference come first
    )
    evidence = {
        "keys": ties.keys,
        "offset": ties.start,
        "limit": None if ties.stop is None else ties.stop - ties.start,
        "tied_positions": [run.first, run.end - 1],
        "returned": show_rows(inside),
        "as_good": show_rows(others),
    }
    return Finding("tie_at_limit" if ties.keys else "limit_without_order", evidence)


def _is_one_row_of_several(query: exp.Expr, scopes: Scopes) -> bool:
    """Return whether a subquery is used as a value, its first row, and may have several rows. Other
    engines than SQLite refuse such a query.

    Source: the SQLite manual's page on expressions, section 11, "Subquery Expressions".
    """
    if not speaks_sqlite():
        return False
    operand = find_operand(query)
    user = operand.parent
    is_set = isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation | exp.Exists) or (
        isinstance(user, exp.In) and operand.arg_key == "query"
    )
    if user is None or is_set:
        return False
    grouping = read_grouping(query, scopes) if isinstance(query, exp.Select) else None
    return grouping is None or query.args.get("group") is not None


def _find_cut_in_subquery(inspection: Inspection, query: exp.Expr) -> Finding | None:
    """Return a finding if the answer changes when selected columns break the ties of a subquery."""
    if isinstance(query.find_ancestor(exp.Exists, exp.Query), exp.Exists):
        return None  # EXISTS does not depend on which row there is
    other = _break_ties_otherwise(inspection, query)
    if other is None:
        return None
    evidence = {
        "subquery": show_sql(query),
        "answer": show_rows(inspection.rows),
        "other_answer": show_rows(other),
    }
    return Finding("tie_at_limit" if query.args.get("order") else "limit_without_order", evidence)


def _break_ties_otherwise(inspection: Inspection, query: exp.Expr) -> list[Row] | None:
    width = len(inspection.scopes.outputs(query))

    def execute(descending: bool | None) -> list[Row]:
        copy, (twin,) = copy_with(inspection.tree, [query])
        if descending is not None:
            terms = [
                exp.Ordered(this=exp.Literal.number(number), desc=descending)
                for number in range(1, width + 1)
            ]
            order = twin.args.get("order")
            kept = [term.copy() for term in order.expressions] if order is not None else []
            if not kept:  # DISTINCT ON needs its own expressions first
                kept = [exp.Ordered(this=node.copy()) for node in _list_kept_by(twin)]
            twin.set("order", exp.Order(expressions=[*kept, *terms]))
        return inspection.database.execute(to_sql(copy))

    try:
        for descending in (False, True):
            rows = execute(descending)
            if not inspection.matches(inspection.rows, rows, ordered=False):
                # If the rewriting itself changes the answer, nothing follows.
                is_sound = inspection.matches(inspection.rows, execute(None), ordered=False)
                return rows if is_sound else None
    except QueryError:
        return None
    return None


class TiedRows(TypedDict):
    """Rows that tie; an answer has `take` of them."""

    rows: list[list[Value]]
    take: int


Segment = int | TiedRows


class OtherOrder(TypedDict, total=False):
    """The fields of another right query that say how far the sequence of its rows counts."""

    order_matters: bool
    accepted_rows: Sequence[Segment]


def find_row_order(inspection: Inspection) -> tuple[bool, Sequence[Segment] | None]:
    """Return whether a correct answer must keep the sequence of the rows, and, if rows tie, the
    consecutive segments of every right answer. Rows of a segment may come in any order.

    `[1, 2]`: the first row of the gold answer, and then the next two.
    `[1, {"rows": [["Kite"], ["Tern"]], "take": 1}]`: the first row, and then `take` of `rows`.

    The segments are None if they are not needed, or not known: see `_find_choice`; or if a copy of
    the database has the rows in another sequence.
    """
    order = read_row_order(inspection)
    choice = _find_choice(inspection)
    if choice is not None:
        segments: list[Segment] = [
            part["take"] if len(part["rows"]) == part["take"] else part for part in choice
        ]
        return order is True or len(segments) > 1, segments
    if isinstance(order, bool):
        return order, None
    return (True, order) if _holds_on_copy(inspection, order) else (False, None)


def find_other_order(inspection: Inspection) -> OtherOrder:
    """Return how far the sequence of rows counts in the answer of another right query than gold.

    SQLite reads the rows of one file in one sequence, and nothing is returned. In other engines a
    plan decides about what a query leaves open.
    """
    if speaks_sqlite():
        return {}
    try:
        order_matters, accepted_rows = find_row_order(inspection)
    except (QueryError, RecursionError, TooComplexError):
        return {}
    if not order_matters:
        return {"order_matters": False}
    return {} if accepted_rows is None else {"accepted_rows": accepted_rows}


def _find_choice(inspection: Inspection) -> list[TiedRows] | None:
    """Return the segments if a bound of the query itself cuts through a tie.

    Return None if no bound does, or if not all right answers are known: a subquery may cut, too;
    DISTINCT rows are sorted by unselected columns; the segments are larger than an answer may be;
    or a copy of the database has other segments.
    """
    ties = read_ties(inspection)
    if ties is None or not ties.cut_runs():
        return None
    segments = _read_segments(inspection)
    if segments is None or _list_cutting(inspection):
        return None
    return segments if _is_same_on_copy(inspection, segments) else None


def _read_segments(inspection: Inspection) -> list[TiedRows] | None:
    ties, bounds = read_ties(inspection), inspection.bounds
    if ties is None or ties.has_open_keys:
        return None
    segments: list[TiedRows] = []
    for run in ties.runs:
        returned = ties.rows_of_run(run, inspection.rows)
        is_open = len(returned) < len(run.rows) and run.is_mixed
        if returned:
            rows = sorted(run.rows if is_open else returned, key=encode_json)
            segments.append({"rows": [list(row) for row in rows], "take": len(returned)})
    is_small = (
        sum(len(segment["rows"]) for segment in segments) <= bounds.max_rows
        and len(encode_json(segments)) <= bounds.max_bytes
    )
    return segments if is_small else None


def _is_same_on_copy(inspection: Inspection, segments: list[TiedRows]) -> bool:
    """Return whether only the tie depends on the order in which rows are stored."""
    on_copy = inspection.once(execute_on_copy)
    if on_copy is None:
        return True
    database, rows = on_copy
    others = _read_segments(replace(inspection, real=Executions(database), rows=rows))
    return (
        others is not None
        and len(others) == len(segments)
        and all(
            segment["take"] == other["take"]
            and inspection.matches(segment["rows"], other["rows"], ordered=False)
            for segment, other in zip(segments, others, strict=True)
        )
    )


def _holds_on_copy(inspection: Inspection, order: Order) -> bool:
    """Return whether rows that do not tie have one sequence on a copy of the database, too. Sums of
    floats, whose last digits are open, may sort them in another one."""
    on_copy = inspection.once(execute_on_copy)
    return on_copy is None or inspection.matches(inspection.rows, on_copy[1], ordered=order)
