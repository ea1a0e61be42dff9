"""tie_at_limit: LIMIT cuts through rows that ORDER BY holds equal.

`SELECT name FROM ship ORDER BY weight LIMIT 1` over two ships of the least weight: the other ship
is an equally correct answer.
"""

from __future__ import annotations

from answerkey.audit.cuts import list_cuts
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_tie_at_limit(inspection: Inspection) -> list[Finding]:
    """A finding for the query itself, and one for each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code is Flag.TIE_AT_LIMIT]
