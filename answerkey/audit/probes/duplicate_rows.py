"""duplicate_rows: the answer has equal rows, of which DISTINCT would keep one."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_duplicate_rows(inspection: Inspection) -> list[Finding]:
    """A finding where rows of the answer are equal, value by value: 1 and 1.0 are, and so are two
    NULLs, as for DISTINCT."""
    rows = inspection.rows
    distinct = len(set(rows))
    if distinct == len(rows):
        return []
    return [Finding(Flag.DUPLICATE_ROWS, {"rows": len(rows), "distinct": distinct})]
