"""empty_answer: any query that finds nothing would be right."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag


def find_empty_answer(inspection: Inspection) -> list[Finding]:
    """A finding where the answer has no row."""
    return [] if inspection.rows else [Finding(Flag.EMPTY_ANSWER, {"rows": 0})]
