"""What select_questions writes: the candidate dataset, and what is known of each question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from answerkey.base.errors import Reason
from answerkey.base.records import encode_json, read_jsonl, replace_file, write_jsonl
from answerkey.dataset import (
    AUDIT,
    EXCLUDED,
    NOT_SELECTED,
    PASS_RATES,
    Question,
    Record,
)
from answerkey.sections.score_rollouts import Reward
from answerkey.sections.select_questions import Policy
from answerkey.selection.policies import accepts_ties, keep_reported
from answerkey.selection.reward_terms import add_terms
from answerkey.sqlite.answers import has_choice, read_order, write_order

_FIELDS = ("question_id", "mutation_score", "operators", "alive", "databases")
Why = tuple[str | None, str | None, str | None]  # stage, reason, detail; None: selected


def write_suites(path: Path, questions: Iterable[Record], shards: Path) -> None:
    """Write the test suite of each question, in their order, which is that of the shards.

    Raises:
        FileNotFoundError: if the shard of a database is missing.
    """

    def take() -> Iterator[Record]:
        for name, of_database in groupby(questions, key=itemgetter("database_name")):
            asked = {question["question_id"] for question in of_database}
            for suite in read_jsonl(shards / f"{name}.jsonl"):
                if suite["question_id"] in asked:
                    yield {field: suite[field] for field in _FIELDS}

    write_jsonl(path, take())


def write_selection(
    folder: Path,
    decided: Iterable[tuple[Question, Why]],
    policies: Mapping[str, Policy],
    hashes: Mapping[str, str],
    reward: Reward,
) -> None:
    """Write the candidate dataset and its sidecars: each question with what was decided of it. An
    evaluation may want the usable questions that are not selected, so they are kept beside it.

    `hashes` has the sha256 of each database; `reward` is what params say of the reward.
    """

    def write(file: BinaryIO, record: Record) -> None:
        file.write(encode_json(record) + b"\n")

    with (
        replace_file(folder / "questions.jsonl") as questions,
        replace_file(folder / AUDIT) as audits,
        replace_file(folder / EXCLUDED) as excluded,
        replace_file(folder / PASS_RATES) as pass_rates,
        replace_file(folder / NOT_SELECTED) as not_selected,
    ):
        for question, why in decided:
            _, reason, _ = why
            if reason is not None:
                write(excluded, _make_exclusion(question, policies, *why))
            if reason not in (None, Reason.NOT_SELECTED):
                continue
            record = question.product_record
            terms = add_terms(question, hashes[question.database_name], reward)
            audit = _make_audit(terms, policies)
            if reason is not None:
                write(not_selected, record | audit)
                continue
            write(questions, record)
            write(audits, audit)
            if question.pass_rate is not None:
                write(pass_rates, {"question_id": question.question_id, **question.pass_rate})


def _make_audit(question: Question, policies: Mapping[str, Policy]) -> Record:
    """The record in audit.jsonl: what the nine fields do not hold."""
    accepted_rows = question.accepted_rows
    if has_choice(accepted_rows) and not accepts_ties(question.flags, policies):
        own_rows = write_order(read_order(question.order_matters, accepted_rows))
        accepted_rows = own_rows["accepted_rows"]
    return {
        "question_id": question.question_id,
        "flags": keep_reported(question.flags, policies),
        "gold_risk": question.gold_risk,
        "order_matters": question.order_matters,
        "max_steps": question.max_steps,
        "rule": question.rule,
        "accepted_rows": accepted_rows,
        **({"other_answers": question.other_answers} if question.other_answers else {}),
        "hardness": question.hardness,
        "features": question.features,
        "evidence": question.evidence,
        "source": question.source,
        "database_sha256": question.database_sha256,
    }


def _make_exclusion(
    question: Question, policies: Mapping[str, Policy], stage: str, reason: str, detail: str
) -> Record:
    """A question that is set aside, the first reason why, and all its flags, which it has where it
    has an answer. If there is no gold SQL, an evaluation needs to know where it is from."""
    more = ("split", "evidence", "source") if reason == Reason.NO_GOLD_SQL else ()
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
        **{field: getattr(question, field) for field in more},
    }
