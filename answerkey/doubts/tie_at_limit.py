"""LIMIT cuts through rows that ORDER BY holds equal.

"Which ship is the lightest?"

Doubted: SELECT name FROM ship ORDER BY weight LIMIT 1, over two ships of the least weight
Sound:   SELECT name FROM ship ORDER BY weight, name LIMIT 1

Another correct query returns the other ship. There is no doubt where the rows that tie look the
same in the answer, and none of a subquery whose choice does not change the answer.
"""

from __future__ import annotations

from answerkey.base.records import Finding
from answerkey.doubts.doubt import Doubt
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import list_cuts


def find_tie_at_limit(inspection: Inspection) -> list[Finding]:
    """Return a finding of the query itself, and of each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code == "tie_at_limit"]


DOUBT = Doubt("tie_at_limit", find_in_query=find_tie_at_limit)
