"""all_null: the answer has several values, and each of them is NULL."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_all_null(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has rows, and every value in them is NULL."""
    rows = inspection.rows
    if not rows or any(value is not None for row in rows for value in row):
        return []
    return [Finding(Flag.ALL_NULL, {"rows": len(rows), "columns": len(rows[0])})]
