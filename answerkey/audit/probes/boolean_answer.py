"""boolean_answer: the answer is one of two values, so that a guess is right half of the time."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag

_BOOLEAN_TEXTS = frozenset({"yes", "no", "true", "false", "t", "f", "y", "n"})


def find_boolean_answer(inspection: Inspection) -> list[Finding]:
    """A finding where the answer is one value out of two: 0 or 1, yes or no, true or false."""
    if not inspection.is_scalar:
        return []
    value = inspection.rows[0][0]
    is_boolean = (isinstance(value, int) and value in (0, 1)) or (
        isinstance(value, str) and value.strip().lower() in _BOOLEAN_TEXTS
    )
    return [Finding(Flag.BOOLEAN_ANSWER, {"answer": value})] if is_boolean else []
