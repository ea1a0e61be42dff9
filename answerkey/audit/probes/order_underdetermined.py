"""order_underdetermined: ORDER BY leaves the order of rows that differ open.

`SELECT name FROM ship ORDER BY weight` over two ships of one weight: either may come first.
"""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import read_ties, show_rows
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag

_SHOWN_RUNS = 5


def find_order_underdetermined(inspection: Inspection) -> list[Finding]:
    """A finding where neighbours in the answer differ, and no sort key puts them in order."""
    ties = read_ties(inspection)
    open_runs = ties.open_runs(inspection.rows) if ties is not None else []
    if not open_runs:
        return []
    first, rows = open_runs[0]
    evidence = {
        "keys": ties.keys,
        "certain_rows": first,
        "tied_positions": [[at, at + len(tied) - 1] for at, tied in open_runs[:_SHOWN_RUNS]],
        "tied_runs": len(open_runs),
        "rows": show_rows(rows),
    }
    return [Finding(Flag.ORDER_UNDERDETERMINED, evidence)]
