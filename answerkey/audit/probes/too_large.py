"""too_large: the answer is longer, as JSON, than params allow."""

from __future__ import annotations

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.core.records import encode_json
from answerkey.sqlite.answers import shape_answer


def find_too_large(inspection: Inspection) -> list[Finding]:
    """A finding where the answer as JSON has more than `max_bytes` bytes."""
    size = len(encode_json(shape_answer(inspection.rows)))
    return (
        [Finding(Flag.TOO_LARGE, {"bytes": size})] if size > inspection.thresholds.max_bytes else []
    )
