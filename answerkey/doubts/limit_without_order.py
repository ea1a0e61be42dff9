"""LIMIT without ORDER BY keeps the rows that SQLite reads first.

"Which ship is there?"

Doubted: SELECT name FROM ship LIMIT 1
Sound:   SELECT name FROM ship ORDER BY id LIMIT 1

Another correct query, or another order of storing the rows, gives another ship. A subquery that
is one value takes the first of its rows, too: `WHERE id = (SELECT ship_id FROM visit)` over
several visits. There is no doubt where all rows look the same in the answer, and none of a subquery
whose choice does not change the answer.
"""

from __future__ import annotations

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import list_cuts


def find_limit_without_order(inspection: Inspection) -> list[Finding]:
    """Return a finding of the query itself, and of each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code == "limit_without_order"]


DOUBT = Doubt("limit_without_order", find_in_query=find_limit_without_order)
