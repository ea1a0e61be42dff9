"""projection_mismatch: the query returns other columns or aggregates than its question asks for."""

from __future__ import annotations

from answerkey.audit.asked_aggregates import find_aggregate_mismatch
from answerkey.audit.asked_columns import find_column_mismatch
from answerkey.audit.inspection import Inspection
from answerkey.audit.projections import read_projection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.english.asked import MOST_WORDS
from answerkey.english.question import Question


def find_projection_mismatch(inspection: Inspection, question: Question) -> list[Finding]:
    """A finding where what is selected is not what is asked for: "the first and last name" and
    `SELECT first_name, first_name`.

    The modules asked_aggregates and asked_columns have the kinds that its evidence tells.
    """
    projection = read_projection(inspection)
    if projection.select is None or len(question.words) > MOST_WORDS:
        return []
    evidence = find_aggregate_mismatch(projection, question)
    if evidence is None:
        evidence = find_column_mismatch(projection, question)
    return [] if evidence is None else [Finding(Flag.PROJECTION_MISMATCH, evidence)]
