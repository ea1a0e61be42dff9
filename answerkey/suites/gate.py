"""Gate: on which variants of a database the answer of a gold query counts.

It must run within its bounds, be the same however the rows are stored, cut through no tie, and be
what every reading of its question gives that the real database does not tell from it: else a
prediction that is as good as gold, or better, would be called wrong.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.cuts import list_cuts
from answerkey.audit.inspection import Inspection
from answerkey.audit.order import read_row_order
from answerkey.sql.query_rewrites import unwrap
from answerkey.sqlite.answers import Order
from answerkey.sqlite.guard import QueryError
from answerkey.sqlite.schema import Schema
from answerkey.suites.executions import Executions, are_same
from answerkey.suites.questions import Query
from answerkey.suites.readings import Reading

# Of gold on a variant: a prediction has twenty times as many there.
_MAX_STEPS = 50_000


def find_stable_order(query: Query, storages: list[Executions], schema: Schema) -> Order | None:
    """How far the order of rows counts on a variant, if gold gives one answer on all its storages,
    the first of which counts; else None. It may count where all rows tie on the real database."""
    first, *others = storages
    rows = first.find_rows(query.sql, max_steps=_MAX_STEPS)
    if rows is None:
        return None
    answers = [other.find_rows(query.sql) for other in others]
    if not all(are_same(rows, answer, ordered=False) for answer in answers):
        return None
    order: Order = unwrap(query.tree).args.get("order") is not None
    has_limit = query.tree.find(exp.Limit) is not None
    if (rows and has_limit) or (order and len(rows) > 1):
        try:
            inspection = Inspection(query.sql, query.tree, schema, rows, first.database)
            if has_limit and list_cuts(inspection):
                return None
            order = order and read_row_order(inspection)
        except (QueryError, RecursionError):
            return None
    return order if all(are_same(rows, answer, ordered=order) for answer in answers) else None


def find_other_reading(
    query: Query, readings: list[Reading], variant: Executions, order: Order
) -> Reading | None:
    """The first reading that gives another answer than gold."""
    rows = variant.find_rows(query.sql)
    for reading in readings:
        if not are_same(rows, variant.find_rows(reading.sql), ordered=order):
            return reading
    return None
