"""Fingerprints for tests, and what was found of them in few words."""

from __future__ import annotations

from typing import Any

from answerkey.comparison.compare import Fingerprint, find_across_splits, make_fingerprint
from answerkey.dataset import Question
from answerkey.records import Finding


def record(number: int, text: str, sql: str = "q", answer: Any = 1, **other: Any) -> Fingerprint:
    known = {"database_name": "fleet", "split": "train", "order_matters": False, **other}
    return make_fingerprint(
        Question(
            question_id=f"{known['database_name']}_{known['split']}_{number:03d}",
            question_text=text,
            gold_sql="",
            source={},
            flags=[],
            canonical_sql=sql,
            gold_answer=answer,
            answer_type="any",
            **known,
        )
    )


def flags(findings: dict[str, list[Any]]) -> dict[str, list[str]]:
    return {
        question_id.rsplit("_", 1)[1]: [str(finding.code) for finding in found]
        for question_id, found in sorted(findings.items())
    }


def held_out(number: int, text: str, template: str = "T", **other: Any) -> Fingerprint:
    known = {"database_name": "zoo", "split": "eval", **other}
    return record(number, text, template=template, **known)


def find_across(*fingerprints: Fingerprint) -> dict[str, list[Finding]]:
    """What questions share with those of the other split."""
    return find_across_splits(fingerprints)
