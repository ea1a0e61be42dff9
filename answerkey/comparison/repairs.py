"""Questions with repairs, as `answerkey repairs` lists them: the riskiest answers first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from answerkey.dataset import Question

if TYPE_CHECKING:
    from answerkey.alternatives.repairs import Repair

_OF_EVIDENCE = ("kind", "repair", "answers")  # what tells which doubt a repair belongs to


class BriefFlag(TypedDict):
    """A flag with those parts of its evidence that name its case and its repair."""

    code: str
    evidence: Mapping[str, Any]


class RepairedQuestion(TypedDict):
    """A question that has repairs, the likeliest first, with its risks and its flags in brief.

    evidence: of the corpus; only if there is some.
    """

    question_id: str
    database_name: str
    split: str
    question_text: str
    evidence: NotRequired[str]
    now: NotRequired[str]
    gold_sql: str
    answer_risk: float
    sql_risk: float
    flags: list[BriefFlag]
    repairs: list[Repair]


def describe_repairs(question: Question) -> RepairedQuestion | None:
    """The record of a question; None if it has no repair."""
    if not question.repairs or question.answer_risk is None or question.sql_risk is None:
        return None
    record: RepairedQuestion = {
        "question_id": question.question_id,
        "database_name": question.database_name,
        "split": question.split,
        "question_text": question.question_text,
        "gold_sql": question.gold_sql,
        "answer_risk": question.answer_risk,
        "sql_risk": question.sql_risk,
        "flags": [_shorten(flag) for flag in question.flags],
        "repairs": question.repairs,
    }
    if question.evidence:
        record["evidence"] = question.evidence
    if question.now:
        record["now"] = question.now
    return record


def _shorten(flag: Mapping[str, Any]) -> BriefFlag:
    known = {name: flag["evidence"][name] for name in _OF_EVIDENCE if name in flag["evidence"]}
    return {"code": flag["code"], "evidence": known}


def sort_by_risk(records: Iterable[RepairedQuestion]) -> list[RepairedQuestion]:
    """The records by answer_risk, the highest first; those of one risk by their ids."""
    return sorted(records, key=lambda record: (-record["answer_risk"], record["question_id"]))
