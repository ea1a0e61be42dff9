"""Accepted rows: what every right answer has if rows tie.

`SELECT name FROM ship ORDER BY weight` over Sun 4, Tern 5 and Kite 5: a right answer has Sun, and
then Kite and Tern in any order. With LIMIT 2 it has Sun, and then one of Kite and Tern.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from answerkey.base.records import encode_json
from answerkey.order.cuts import list_cutting, read_row_order
from answerkey.order.inspection import Inspection, execute_on_copy
from answerkey.order.ties import read_ties
from answerkey.sqlite.answers import Order, answers_match, shape_answer

Segment = int | dict[str, Any]


def find_row_order(inspection: Inspection) -> tuple[bool, list[Segment] | None]:
    """Whether a correct answer must keep the sequence of the rows, and the segments of every right
    answer where rows tie, one after the other; the rows of a segment may come in any order.

    `[1, 2]`: the first row of the gold answer, and then the two behind it.
    `[1, {"rows": [["Kite"], ["Tern"]], "take": 1}]`: the first one, and then `take` of `rows`.

    No segments if none is needed, or if they are not known: see `_find_choice`; or a copy
    of the database has rows in another sequence.
    """
    order = read_row_order(inspection)
    choice = _find_choice(inspection)
    if choice is not None:
        segments = [part["take"] if len(part["rows"]) == part["take"] else part for part in choice]
        return order is True or len(segments) > 1, segments
    if isinstance(order, bool):
        return order, None
    return (True, order) if _holds_on_copy(inspection, order) else (False, None)


def _find_choice(inspection: Inspection) -> list[dict[str, Any]] | None:
    """The segments where a bound of the query itself cuts through a tie.

    None if none does, or if its right answers are not all known: a subquery may cut, too;
    DISTINCT rows are sorted by what is not selected; the segments are larger than an answer may be;
    a copy of the database has others.
    """
    ties = read_ties(inspection)
    if ties is None or not ties.cut_runs():
        return None
    segments = _read_segments(inspection)
    if segments is None or list_cutting(inspection):
        return None
    return segments if _is_same_on_copy(inspection, segments) else None


def _read_segments(inspection: Inspection) -> list[dict[str, Any]] | None:
    """Return a segment for each run of the answer; None if they are not known, or too large."""
    ties, thresholds = read_ties(inspection), inspection.thresholds
    if ties is None or ties.has_open_keys:
        return None
    segments: list[dict[str, Any]] = []
    for run in ties.runs:
        taken = ties.rows_of_run(run, inspection.rows)
        is_open = len(taken) < len(run.rows) and run.is_mixed
        if taken:
            rows = sorted(run.rows if is_open else taken, key=encode_json)
            segments.append({"rows": [list(row) for row in rows], "take": len(taken)})
    is_small = (
        sum(len(segment["rows"]) for segment in segments) <= thresholds.max_rows
        and len(encode_json(segments)) <= thresholds.max_bytes
    )
    return segments if is_small else None


def _is_same_on_copy(inspection: Inspection, segments: list[dict[str, Any]]) -> bool:
    """Whether a copy of the database has these segments, so that nothing but the tie depends on the
    order in which rows are stored."""
    found = inspection.once(execute_on_copy)
    if found is None:
        return True
    database, rows = found
    others = _read_segments(replace(inspection, database=database, rows=rows))
    return (
        others is not None
        and len(others) == len(segments)
        and all(
            one["take"] == other["take"]
            and _is_same_answer(inspection, one["rows"], other["rows"], order=False)
            for one, other in zip(segments, others, strict=True)
        )
    )


def _holds_on_copy(inspection: Inspection, order: Order) -> bool:
    """Whether rows that do not tie come in one sequence on a copy of the database, too: sums of
    floats, whose last digits are open, may sort them otherwise."""
    found = inspection.once(execute_on_copy)
    return found is None or _is_same_answer(inspection, inspection.rows, found[1], order=order)


def _is_same_answer(
    inspection: Inspection, rows: list[Any], others: list[Any], *, order: Order
) -> bool:
    rel_tol = inspection.rel_tol
    return answers_match(shape_answer(rows), shape_answer(others), ordered=order, rel_tol=rel_tol)
