"""many_rows: the answer has more rows than params allow."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_many_rows(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has more than `max_rows` rows."""
    rows = len(inspection.rows)
    return (
        [Finding(Flag.MANY_ROWS, {"rows": rows})] if rows > inspection.thresholds.max_rows else []
    )
