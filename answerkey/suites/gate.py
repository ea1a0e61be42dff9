"""Gate: on which variants of a database the answer of a gold query counts.

It must run within its bounds, be the same however the rows are stored, cut through no tie, and be
what every reading of its question gives that the real database does not tell from it: else a
prediction that is as good as gold, or better, would be called wrong.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.cuts import list_cuts
from answerkey.audit.inspection import Inspection
from answerkey.sqlite.guard import QueryError
from answerkey.sqlite.schema import Schema
from answerkey.suites.executions import Executions, are_same
from answerkey.suites.questions import Query
from answerkey.suites.readings import Reading

# Of gold on a variant: a prediction has twenty times as many there.
_MAX_STEPS = 50_000


def is_stable(query: Query, storages: list[Executions], schema: Schema) -> bool:
    """Whether gold gives one answer on all storages of a variant, the first of which counts."""
    first, *others = storages
    rows = first.find_rows(query.sql, max_steps=_MAX_STEPS)
    if rows is None:
        return False
    for other in others:
        if not are_same(rows, other.find_rows(query.sql), ordered=query.order_matters):
            return False
    if not rows or query.tree.find(exp.Limit) is None:
        return True
    try:
        inspection = Inspection(query.sql, query.tree, schema, rows, first.database)
        return not list_cuts(inspection)
    except (QueryError, RecursionError):
        return False


def find_other_reading(
    query: Query, readings: list[Reading], variant: Executions
) -> Reading | None:
    """The first reading that gives another answer than gold."""
    rows = variant.find_rows(query.sql)
    for reading in readings:
        if not are_same(rows, variant.find_rows(reading.sql), ordered=query.order_matters):
            return reading
    return None
