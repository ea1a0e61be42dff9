"""What becomes of a question: a record of the product and one beside it, or an exclusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from answerkey.core.flags import Flag
from answerkey.core.joined import JoinedQuestion
from answerkey.core.question import AUDIT, EXCLUDED, FIELDS, PASS_RATES
from answerkey.core.records import encode_json, replace_file
from answerkey.core.sections import Reward
from answerkey.selection.policies import Policy, accepts_ties, keep_reported
from answerkey.selection.reward_terms import bound_steps
from answerkey.sqlite.answers import has_choice, read_order, write_order

Why = tuple[str | None, str | None, str | None]  # stage, reason, detail; None: selected


def write_selection(
    folder: Path,
    decided: Iterable[tuple[JoinedQuestion, Why]],
    policies: Mapping[Flag, Policy],
    hashes: Mapping[str, str],
    reward: Reward,
) -> None:
    """Write the candidate dataset and its sidecars: each question with what was decided of it.

    `hashes` has the sha256 of each database; `reward` is what params say of the reward.
    """
    with (
        replace_file(folder / "questions.jsonl") as questions,
        replace_file(folder / AUDIT) as audits,
        replace_file(folder / EXCLUDED) as excluded,
        replace_file(folder / PASS_RATES) as pass_rates,
    ):
        for question, why in decided:
            if why[1] is None:
                audit = make_audit(question, policies, hashes[question.database_name], reward)
                questions.write(encode_json(make_record(question)) + b"\n")
                audits.write(encode_json(audit) + b"\n")
                if question.pass_rate is not None:
                    rate = {"question_id": question.question_id, **question.pass_rate}
                    pass_rates.write(encode_json(rate) + b"\n")
            else:
                exclusion = make_exclusion(question, policies, *why)
                excluded.write(encode_json(exclusion) + b"\n")


def make_record(question: JoinedQuestion) -> dict[str, Any]:
    """The nine fields of the product, in their order."""
    return {field: getattr(question, field) for field in FIELDS}


def make_audit(
    question: JoinedQuestion,
    policies: Mapping[Flag, Policy],
    database_sha256: str,
    reward: Reward,
) -> dict[str, Any]:
    """What the nine fields do not hold."""
    accepted_rows = question.accepted_rows
    if has_choice(accepted_rows) and not accepts_ties(question.flags, policies):
        own_rows = write_order(read_order(question.order_matters, accepted_rows))
        accepted_rows = own_rows["accepted_rows"]
    return {
        "question_id": question.question_id,
        "flags": keep_reported(question.flags, policies),
        "gold_risk": question.gold_risk,
        "order_matters": question.order_matters,
        "max_steps": bound_steps(question.steps, reward),
        "rule": question.grading_method or reward.rule,
        "accepted_rows": accepted_rows,
        "hardness": question.hardness,
        "features": question.features,
        "evidence": question.evidence,
        "source": question.source,
        "database_sha256": database_sha256,
    }


def make_exclusion(
    question: JoinedQuestion, policies: Mapping[Flag, Policy], stage: str, reason: str, detail: str
) -> dict[str, Any]:
    """A question that is set aside, the first reason why, and all its flags, which it has where it
    has an answer."""
    return {
        "question_id": question.question_id,
        "database_name": question.database_name,
        "stage": stage,
        "reason": reason,
        "detail": detail,
        "flags": keep_reported(question.flags, policies),
        "gold_risk": question.gold_risk,
        "question_text": question.question_text,
        "gold_sql": question.gold_sql,
    }
