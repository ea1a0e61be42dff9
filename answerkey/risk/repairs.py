"""Write data/interim/repairs.jsonl: questions with repairs, the riskiest answers first. The command
`answerkey repairs` lists them in the words of `answerkey.risk.explanations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict

from answerkey.base.records import read_jsonl
from answerkey.dataset import Question

if TYPE_CHECKING:
    from answerkey.doubts.repairs import Repair

_OF_EVIDENCE = ("kind", "repair", "answers")  # they identify the doubt of a repair


class BriefFlag(TypedDict):
    """A flag with the parts of its evidence that name its case and its repair."""

    code: str
    evidence: Mapping[str, Any]


class RepairedQuestion(TypedDict):
    """A question that has repairs, the likeliest first, with its risks and its flags in brief.

    evidence: that of the corpus, if it has some.
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


def record_repairs(question: Question) -> RepairedQuestion | None:
    """Return the record of a question; None if it has no repair."""
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


def sort_by_risk(
    records: Iterable[RepairedQuestion], risk: Literal["answer_risk", "sql_risk"] = "answer_risk"
) -> list[RepairedQuestion]:
    """Return the records sorted by a risk, the highest first, and then by id."""
    return sorted(records, key=lambda record: (-record[risk], record["question_id"]))


def read_repairs(path: Path, *, by_sql: bool, limit: int | None) -> list[RepairedQuestion]:
    """Return the questions of repairs.jsonl, the highest answer_risk first, or the highest
    sql_risk.

    Raises:
        FileNotFoundError: no run has made the file.
    """
    records: list[Any] = [*read_jsonl(path)]
    return sort_by_risk(records, "sql_risk" if by_sql else "answer_risk")[:limit]
