"""The answer changes if the same rows are stored in another order.

"Which ships are there, in one text?"

Doubted: SELECT group_concat(name) FROM ship, which is 'Sun,Tern' or 'Tern,Sun'
Sound:   SELECT group_concat(name, ',' ORDER BY name) FROM ship

The query runs on a copy of the database that has the rows in the reverse order. The sequence of the
answer's rows counts only if ORDER BY leaves none open.

`differs_in` of the evidence is "sequence" if only the order of the answer's rows differs. Else it
is "rows", and the evidence has those of which each side has more.
"""

from __future__ import annotations

from collections import Counter

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.engines.database import Row
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import find_other_answer
from answerkey.order.ties import show_rows, typed_row


def find_row_order_dependent(inspection: Inspection) -> list[Finding]:
    """Return a finding if the reordered copy of the database gives another answer."""
    here, there = inspection.rows, find_other_answer(inspection)
    if there is None:
        return []
    differs_in = "sequence"
    if not inspection.matches(inspection.rows, there, ordered=False):
        differs_in, here, there = "rows", _subtract(here, there), _subtract(there, here)
    evidence = {"answer": show_rows(here), "other_answer": show_rows(there)}
    return [Finding("row_order_dependent", {"differs_in": differs_in} | evidence)]


def _subtract(rows: list[Row], others: list[Row]) -> list[Row]:
    more = Counter(map(typed_row, rows)) - Counter(map(typed_row, others))
    return [row for row in rows if typed_row(row) in more]


DOUBT = Doubt("row_order_dependent", find_in_query=find_row_order_dependent)
