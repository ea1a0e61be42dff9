"""Checks of what the sidecar tells the reward: how many steps, by which rule, and which rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from answerkey.core.question import AUDIT
from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import read_rule
from answerkey.sqlite.answers import answer_rows
from answerkey.validation.facts import Record, are_segments, shorten

_LEAST_STEPS = 1_000_000


def check_reward_terms(questions: Iterable[Record], audit: Iterable[Record]) -> list[str]:
    """Where audit.jsonl has no bound of steps, names no rule, or would not accept gold itself."""
    errors = []
    with_ties: dict[str, Record] = {}
    for record in audit:
        errors += [f"{record['question_id']}: {AUDIT}: {error}" for error in _check_terms(record)]
        if record.get("accepted_rows") is not None:
            with_ties[record["question_id"]] = record
    for question in questions:
        record = with_ties.get(question["question_id"])
        if record is not None and not _accepts_gold(question["gold_answer"], record):
            errors.append(
                f"{question['question_id']}: {AUDIT}: accepted_rows: expected segments that"
                f" accept gold_answer, found {shorten(record['accepted_rows'])}"
            )
    return errors


def _check_terms(record: Record) -> list[str]:
    errors = []
    max_steps, rule = record.get("max_steps"), record.get("rule")
    if type(max_steps) is not int or max_steps < _LEAST_STEPS:
        errors.append(
            f"max_steps: expected a whole number from {_LEAST_STEPS}, found {max_steps!r}"
        )
    if not isinstance(rule, str):
        return [*errors, f"rule: expected text, found {rule!r}"]
    try:
        read_rule(rule)
    except ValueError as error:
        errors.append(f"rule: {error}")
    return errors


def _accepts_gold(gold_answer: Any, record: Record) -> bool:
    segments = record["accepted_rows"]
    return are_segments(segments, gold_answer) and rows_match(
        answer_rows(gold_answer),
        gold_answer,
        rule=read_rule("strict"),
        order_matters=record["order_matters"],
        accepted_rows=segments,
    )
