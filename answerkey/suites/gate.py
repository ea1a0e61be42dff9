"""Gate: on which variants of a database the answer of a gold query counts.

It must run within its bounds, be the same however the rows are stored, cut through no tie, and be
what every reading of its question gives that the real database does not tell from it: else a
prediction that is as good as gold, or better, would be called wrong.
"""

from __future__ import annotations

from typing import NamedTuple

from answerkey.engines.answers import Order
from answerkey.engines.database import QueryError, Row
from answerkey.engines.executions import Executions, are_same, is_void
from answerkey.engines.schema import Schema
from answerkey.order.inspection import AnswerBounds, Inspection
from answerkey.order.row_order import list_cuts, read_row_order
from answerkey.rewrites.trees import Change
from answerkey.suites.questions import NoSuite
from answerkey.suites.rivals import Case, GoldQuery

# Step limit of gold on a variant. Predictions get 20 times as many.
_MAX_STEPS_GATE = 50_000
# Models often share a mistake: fewer that agree say nothing.
_MIN_MODELS = 5


class GoldAnswer(NamedTuple):
    """The answer of gold on a variant, and how far the order of its rows counts."""

    rows: list[Row]
    order: Order


def answer_gold(
    gold: GoldQuery, stored: Executions, reversed_: Executions, schema: Schema
) -> GoldAnswer | NoSuite:
    """The answer of gold on a variant, if it is the same where the rows are stored in reverse; else
    why the variant does not count. The order may count where all rows tie on the real database."""
    rows = stored.find_rows(gold.sql, max_steps=_MAX_STEPS_GATE)
    if rows is None:
        return NoSuite.FAILS
    if is_void(rows, abs_tol=gold.stored.abs_tol):
        return NoSuite.SAYS_NOTHING
    other = reversed_.find_rows(gold.sql)
    order: Order | NoSuite = False
    if not are_same(rows, other, ordered=False, abs_tol=gold.stored.abs_tol):
        order = NoSuite.TIES if gold.has_limit else NoSuite.STORED_ORDER
    elif gold.has_limit or (gold.is_sorted and len(rows) > 1):
        order = _read_order(gold, rows, stored, schema)
    elif gold.is_sorted:
        order = True
    if isinstance(order, NoSuite):
        return order
    is_stable = are_same(rows, other, ordered=order, abs_tol=gold.stored.abs_tol)
    return GoldAnswer(rows, order) if is_stable else NoSuite.STORED_ORDER


def _read_order(
    gold: GoldQuery, rows: list[Row], stored: Executions, schema: Schema
) -> Order | NoSuite:
    bounds = AnswerBounds(abs_tol=gold.stored.abs_tol)
    try:
        inspection = Inspection(gold.sql, gold.tree, schema, rows, stored, bounds=bounds)
        if gold.has_limit and list_cuts(inspection):
            return NoSuite.TIES
        return gold.is_sorted and read_row_order(inspection)
    except (QueryError, RecursionError):
        return NoSuite.FAILS


def find_other_reading(case: Case, answer: GoldAnswer, variant: Executions) -> Change | None:
    """The first reading of a question that gives another answer than gold, or else that of most
    models, where more agree on one answer than on that of gold."""
    for reading in case.question.readings:
        if not _is_given(answer, variant.find_rows(reading.sql), case):
            return reading
    answers = [variant.find_rows(sql, max_steps=_MAX_STEPS_GATE) for sql in case.voters]
    votes = [
        0
        if rows is None
        else sum(_is_given(answer._replace(rows=rows), other, case) for other in answers)
        for rows in answers
    ]
    most = max(votes, default=0)
    if most < _MIN_MODELS or most <= sum(_is_given(answer, other, case) for other in answers):
        return None
    return Change("models_agree", case.voters[votes.index(most)])


def _is_given(answer: GoldAnswer, rows: list[Row] | None, case: Case) -> bool:
    return are_same(answer.rows, rows, ordered=answer.order, abs_tol=case.gold.stored.abs_tol)
