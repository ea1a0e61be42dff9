"""Gate: on which variants of a database the answer of a gold query counts.

It must run within its bounds, be the same however the rows are stored, cut through no tie, and be
what every reading of its question gives that the real database does not tell from it: else a
prediction that is as good as gold, or better, would be called wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from answerkey.order.inspection import AnswerBounds, Inspection
from answerkey.order.row_order import list_cuts, read_row_order
from answerkey.rewrites.trees import Change
from answerkey.sql.query_tree import unwrap
from answerkey.sqlite.answers import Order
from answerkey.sqlite.executions import Executions, are_same, is_void
from answerkey.sqlite.guard import QueryError, Row
from answerkey.sqlite.schema import Schema
from answerkey.suites.questions import NoSuite, Query

# Of gold on a variant: a prediction has twenty times as many there.
_MAX_STEPS_GATE = 50_000
# Models often share a mistake: fewer that agree say nothing.
_MIN_MODELS = 5


def find_stable_order(query: Query, storages: list[Executions], schema: Schema) -> Order | NoSuite:
    """How far the order of rows counts on a variant, if gold gives one answer on all its storages,
    the first of which counts; else why the variant does not count. The order may count where all
    rows tie on the real database."""
    first, *others = storages
    rows = first.find_rows(query.sql, max_steps=_MAX_STEPS_GATE)
    if rows is None:
        return NoSuite.FAILS
    if is_void(rows, abs_tol=query.abs_tol):
        return NoSuite.SAYS_NOTHING
    answers = [other.find_rows(query.sql) for other in others]
    has_limit = query.tree.find(exp.Limit) is not None
    if not all(are_same(rows, answer, ordered=False, abs_tol=query.abs_tol) for answer in answers):
        return NoSuite.TIES if has_limit else NoSuite.STORED_ORDER
    order: Order = unwrap(query.tree).args.get("order") is not None
    if (rows and has_limit) or (order and len(rows) > 1):
        try:
            bounds = AnswerBounds(abs_tol=query.abs_tol)
            inspection = Inspection(query.sql, query.tree, schema, rows, first, bounds=bounds)
            if has_limit and list_cuts(inspection):
                return NoSuite.TIES
            order = order and read_row_order(inspection)
        except (QueryError, RecursionError):
            return NoSuite.FAILS
    is_stable = all(
        are_same(rows, answer, ordered=order, abs_tol=query.abs_tol) for answer in answers
    )
    return order if is_stable else NoSuite.STORED_ORDER


def find_other_reading(
    query: Query, readings: list[Change], variant: Executions, order: Order
) -> Change | None:
    """The first reading that gives another answer than gold."""
    rows = variant.find_rows(query.sql)
    for reading in readings:
        if not are_same(rows, variant.find_rows(reading.sql), ordered=order, abs_tol=query.abs_tol):
            return reading
    return None


def find_majority(
    query: Query, model_queries: Sequence[str], variant: Executions, order: Order
) -> Change | None:
    """The reading of most models, where more agree on one answer than on that of gold."""
    answers = [variant.find_rows(sql, max_steps=_MAX_STEPS_GATE) for sql in model_queries]

    def count(rows: list[Row] | None) -> int:
        return sum(
            are_same(rows, answer, ordered=order, abs_tol=query.abs_tol) for answer in answers
        )

    votes = [count(rows) for rows in answers]
    most = max(votes, default=0)
    if most < _MIN_MODELS or most <= count(variant.find_rows(query.sql)):
        return None
    return Change("models_agree", model_queries[votes.index(most)])
