"""What select_questions writes: the candidate dataset, and what is known of each question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from answerkey.dataset import (
    AUDIT,
    EXCLUDED,
    NOT_SELECTED,
    PASS_RATES,
    Question,
    Record,
    join_records,
)
from answerkey.records import Reason, encode_json, read_jsonl, replace_file, write_jsonl
from answerkey.sections.score_rollouts import Reward
from answerkey.sections.select_questions import Policy
from answerkey.selection.policies import accepts_ties, keep_reported
from answerkey.selection.reward_terms import add_terms
from answerkey.sqlite.answers import has_choice, read_order, write_order

# The test suites of the selected questions, as a file beside them.


_FIELDS = ("question_id", "mutation_score", "operators", "alive", "databases")


def write_suites(path: Path, questions: Iterable[Record], shards: Path) -> None:
    """Write the test suite of each question, in their order, which is that of the shards.

    Raises:
        FileNotFoundError: if the shard of a database is missing.
        InputError: if a shard has no record of a question, or has it elsewhere.
    """

    def take() -> Iterator[Record]:
        for name, asked in groupby(questions, key=itemgetter("database_name")):
            streams = {str(path): asked}
            for suite, found in join_records(read_jsonl(shards / f"{name}.jsonl"), streams):
                if found[str(path)] is not None:
                    yield {field: suite[field] for field in _FIELDS}

    write_jsonl(path, take())


# What becomes of a question: a record of the product and one beside it, or an exclusion.


Why = tuple[str | None, str | None, str | None]  # stage, reason, detail; None: selected


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
    with (
        replace_file(folder / "questions.jsonl") as questions,
        replace_file(folder / AUDIT) as audits,
        replace_file(folder / EXCLUDED) as excluded,
        replace_file(folder / PASS_RATES) as pass_rates,
        replace_file(folder / NOT_SELECTED) as not_selected,
    ):
        for question, why in decided:
            if why[1] in (None, Reason.NOT_SELECTED):
                audit = make_audit(
                    add_terms(question, hashes[question.database_name], reward), policies
                )
            if why[1] == Reason.NOT_SELECTED:
                not_selected.write(encode_json(question.product_record | audit) + b"\n")
            if why[1] is None:
                questions.write(encode_json(question.product_record) + b"\n")
                audits.write(encode_json(audit) + b"\n")
                if question.pass_rate is not None:
                    rate = {"question_id": question.question_id, **question.pass_rate}
                    pass_rates.write(encode_json(rate) + b"\n")
            else:
                exclusion = make_exclusion(question, policies, *why)
                excluded.write(encode_json(exclusion) + b"\n")


def make_audit(question: Question, policies: Mapping[str, Policy]) -> dict[str, Any]:
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


def make_exclusion(
    question: Question, policies: Mapping[str, Policy], stage: str, reason: str, detail: str
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
