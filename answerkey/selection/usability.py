"""Whether a question is usable, and why not: the first of the stages that set it aside says so."""

from __future__ import annotations

from collections.abc import Mapping

from answerkey.core.dossier import Dossier, read_curated_exclusion
from answerkey.core.errors import InputError
from answerkey.core.reasons import Flag, Reason
from answerkey.selection.policies import Policy, find_exclusion


def find_reason(dossier: Dossier, policies: Mapping[Flag, Policy]) -> tuple[str, str, str] | None:
    """Why a question is not usable: stage, reason and detail; None if it is usable."""
    decision = read_curated_exclusion(dossier.source)
    if decision is not None:
        return "load_questions", Reason.EXCLUDED_BY_CURATOR, decision
    if not dossier.source["question_text"].strip():
        return "load_questions", Reason.EMPTY_QUESTION, "question_text: expected text, found none"
    for field in ("question_text", "evidence"):
        try:
            (dossier.source.get(field) or "").encode()
        except UnicodeEncodeError as error:  # half of a surrogate pair: JSON spells it, UTF-8 not
            return "load_questions", Reason.UNDECODABLE_TEXT, f"{field}: {error.reason}"
    for stage, record in (
        ("compute_gold_answers", dossier.outcome),
        ("parse_gold_sql", dossier.parsed),
    ):
        if "reason" in record:
            return stage, record["reason"], record["detail"]
    if dossier.audit is None or dossier.difficulty is None:
        raise InputError(
            f"{dossier.question_id} has an answer, but no audit or no difficulty: data/interim is"
            " of several runs; run `dvc repro`, which brings it in step"
        )
    exclusion = find_exclusion(dossier.audit["flags"], policies)
    return ("audit_gold_answers", *exclusion) if exclusion else None
