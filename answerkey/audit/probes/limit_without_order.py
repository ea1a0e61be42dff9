"""limit_without_order: LIMIT keeps whichever rows SQLite reads first.

`SELECT name FROM ship LIMIT 1`, and `WHERE id = (SELECT ship_id FROM visit)` over several visits.
"""

from __future__ import annotations

from answerkey.audit.cuts import list_cuts
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_limit_without_order(inspection: Inspection) -> list[Finding]:
    """A finding for the query itself, and one for each subquery whose cut changes the answer."""
    return [cut for cut in list_cuts(inspection) if cut.code is Flag.LIMIT_WITHOUT_ORDER]
