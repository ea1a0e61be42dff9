"""Row order: whether an answer stays what it is when rows are stored or scanned in another order.

`SELECT group_concat(name) FROM ship` -> 'Sun,Tern' or 'Tern,Sun': row_order_dependent.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.audit.column_values import ColumnValues
from answerkey.audit.inspection import Inspection
from answerkey.audit.row_independence import has_fixed_rows
from answerkey.audit.shuffles import Shuffles
from answerkey.audit.ties import show_rows, typed_row
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.sql.operators import ROW_AGGREGATES
from answerkey.sql.query_rewrites import unwrap
from answerkey.sqlite.answers import answers_match, are_same_rows, shape_answer
from answerkey.sqlite.guard import QueryError, Row


class RowOrder(NamedTuple):
    """What other orders of rows showed: the finding, whether some execution gave the answer row by
    row, so that it need not be executed once more to see it repeated, and whether text and schema
    were proof enough."""

    finding: Finding | None
    is_repeated: bool
    is_proven: bool = False


def compare_row_orders(
    inspection: Inspection,
    shuffles: Shuffles,
    *,
    is_ordered: bool,
    is_settled: bool = False,
    rel_tol: float = 1e-6,
) -> RowOrder:
    """row_order_dependent: a copy of the database with the same rows gives another answer.

    `is_ordered` says whether the sequence counts: False where ORDER BY leaves ties that differ,
    which is order_underdetermined and not this. `is_settled` says that ORDER BY and LIMIT were seen
    to leave nothing open: where the rows are then proven to be fixed, nothing is executed. A copy
    on which the query runs out of its limits says nothing. `evidence.differs_in`: "sequence"
    where only the order of rows differs, else "rows".
    """
    is_repeated = False
    is_sequence_sure = is_settled or not is_ordered
    values = ColumnValues(inspection.database)
    if is_sequence_sure and has_fixed_rows(inspection.scopes, values, is_cut_settled=is_settled):
        return RowOrder(None, is_repeated, is_proven=True)
    answer = shape_answer(inspection.rows)
    is_thorough = _picks_among_rows(inspection)
    for name, database in shuffles.storages_for(inspection.sql, is_thorough=is_thorough):
        try:
            rows = database.execute(inspection.sql)
        except QueryError:
            continue
        if are_same_rows(rows, inspection.rows):
            is_repeated = True
            continue
        other = shape_answer(rows)
        if not answers_match(answer, other, ordered=is_ordered, rel_tol=rel_tol):
            is_set_same = answers_match(answer, other, ordered=False, rel_tol=rel_tol)
            evidence = {
                "storage": name,
                "differs_in": "sequence" if is_set_same else "rows",
                **_show_difference(inspection.rows, rows),
            }
            return RowOrder(Finding(Flag.ROW_ORDER_DEPENDENT, evidence), is_repeated)
    return RowOrder(None, is_repeated)


def _picks_among_rows(inspection: Inspection) -> bool:
    """Whether some of several rows, or their sequence, count within the query, so that only few of
    their orders may give another answer: of three rows the second stays what it is in reverse."""
    nodes, own_limit = inspection.scopes.nodes, unwrap(inspection.tree).args.get("limit")
    return (
        bool(nodes.find_all(exp.Window, exp.Anonymous, *ROW_AGGREGATES))
        or any(limit is not own_limit for limit in nodes.find_all(exp.Limit))
        or any(map(_may_have_several_rows, nodes.find_all(exp.Subquery)))
    )


def _may_have_several_rows(subquery: exp.Subquery) -> bool:
    """Whether it is a value, that of its first row, which no aggregate makes the only one."""
    is_value = not isinstance(subquery.parent, exp.From | exp.Join | exp.In | exp.SetOperation)
    return is_value and not any(shown.find(exp.AggFunc) for shown in subquery.selects)


def find_row_order_dependent(
    inspection: Inspection, shuffles: Shuffles, *, is_ordered: bool, rel_tol: float = 1e-6
) -> Finding | None:
    """The finding alone."""
    return compare_row_orders(inspection, shuffles, is_ordered=is_ordered, rel_tol=rel_tol).finding


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
