"""row_order_dependent: the answer changes when the same rows are stored or read in another order.

`SELECT group_concat(name) FROM ship` -> 'Sun,Tern' or 'Tern,Sun'.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.inspection import Inspection
from answerkey.audit.order import is_order_certain, is_order_settled
from answerkey.audit.proofs.row_independence import has_fixed_rows
from answerkey.audit.ties import show_rows, typed_row
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.operands import ROW_AGGREGATES
from answerkey.sql.query_rewrites import unwrap
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import QueryError, Row


def find_row_order_dependent(inspection: Inspection) -> list[Finding]:
    """A finding where a copy of the database with the same rows gives another answer.

    The sequence of rows counts where it is certain: where ORDER BY leaves ties that differ, the
    finding is order_underdetermined and not this. A copy on which the query runs out of its limits
    says nothing. `evidence.differs_in`: "sequence" where only the order of rows differs, else
    "rows".
    """
    is_ordered = is_order_certain(inspection)
    if inspection.copies is None or _needs_no_copy(inspection, is_ordered):
        return []
    answer, rel_tol = shape_answer(inspection.rows), inspection.thresholds.rel_tol
    is_thorough = _picks_among_rows(inspection)
    for name, database in inspection.copies.storages_for(inspection.sql, is_thorough=is_thorough):
        try:
            rows = database.execute(inspection.sql)
        except QueryError:
            continue
        other = shape_answer(rows)
        if not answers_match(answer, other, ordered=is_ordered, rel_tol=rel_tol):
            is_set_same = answers_match(answer, other, ordered=False, rel_tol=rel_tol)
            evidence = {
                "storage": name,
                "differs_in": "sequence" if is_set_same else "rows",
                **_show_difference(inspection.rows, rows),
            }
            return [Finding(Flag.ROW_ORDER_DEPENDENT, evidence)]
    return []


def _needs_no_copy(inspection: Inspection, is_ordered: bool) -> bool:
    """Whether it is proven already that no copy gives another answer."""
    is_settled = is_order_settled(inspection)
    return (is_settled or not is_ordered) and has_fixed_rows(
        inspection.scopes, ColumnValues(inspection.database), is_cut_settled=is_settled
    )


def _picks_among_rows(inspection: Inspection) -> bool:
    """Whether the query uses only some of several rows, or their sequence, so that few orders of
    rows may give another answer: in reverse, the second of three rows stays the second."""
    nodes, own_limit = inspection.scopes.nodes, unwrap(inspection.tree).args.get("limit")
    return (
        bool(nodes.find_all(exp.Window, exp.Anonymous, *ROW_AGGREGATES))
        or any(limit is not own_limit for limit in nodes.find_all(exp.Limit))
        or any(map(_may_have_several_rows, nodes.find_all(exp.Subquery)))
    )


def _may_have_several_rows(subquery: exp.Subquery) -> bool:
    """Whether a subquery is used as a value and may have several rows: it takes the first, and no
    aggregate makes that the only one."""
    is_value = not isinstance(subquery.parent, exp.From | exp.Join | exp.In | exp.SetOperation)
    return is_value and not any(shown.find(exp.AggFunc) for shown in subquery.selects)


def _show_difference(rows: list[Row], other: list[Row]) -> dict[str, Any]:
    """Rows of which each side has more; where there are none, the first that differ."""
    here, there = Counter(map(typed_row, rows)), Counter(map(typed_row, other))
    more_here, more_there = here - there, there - here
    only_here = [row for row in rows if typed_row(row) in more_here]
    only_there = [row for row in other if typed_row(row) in more_there]
    if not only_here and not only_there:
        differing = [pair for pair in zip(rows, other, strict=True) if pair[0] != pair[1]]
        only_here, only_there = [a for a, _ in differing], [b for _, b in differing]
    return {"answer": show_rows(only_here), "other_answer": show_rows(only_there)}
