"""Whether a question is usable, and why not: the first of the stages that set it aside says so."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.core.flags import Flag
from answerkey.core.joined import JoinedQuestion
from answerkey.selection.policies import Policy, find_exclusion
from answerkey.sqlite.answers import has_choice


def find_reason(
    question: JoinedQuestion, policies: Mapping[Flag, Policy]
) -> tuple[str, str, str] | None:
    """Why a question is not usable: stage, reason and detail; None if it is usable."""
    if question.stage is not None:
        return question.stage, question.reason, question.detail
    exclusion = find_exclusion(
        question.flags, policies, has_accepted_rows=has_choice(question.accepted_rows)
    )
    return ("audit_gold_answers", *exclusion) if exclusion else None
