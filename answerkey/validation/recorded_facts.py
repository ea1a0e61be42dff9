"""Recorded facts: what earlier stages and sidecars wrote of each question.

Validation compares questions with them where nothing is executed again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from answerkey.core.joined import read_classified
from answerkey.core.records import read_jsonl
from answerkey.sqlite.answers import Order, read_order
from answerkey.validation.facts import Facts, Record, UnknownFactsError


def recorded_facts(interim: Path) -> Callable[[Record], Facts]:
    """Look the facts of a question up in what the stages wrote; questions come in their order."""
    recorded = read_classified(interim)

    def look_up(question: Record) -> Facts:
        for known in recorded:
            if known.question_id != question["question_id"]:
                continue
            if any(
                getattr(known, name) != question[name] for name in ("database_name", "gold_sql")
            ):
                raise UnknownFactsError("not the SQL or the database that was executed")
            if known.answer_type is None or known.difficulty is None:
                raise UnknownFactsError("no answer or no parse of it was recorded")
            return Facts(
                known.gold_answer,
                read_order(known.order_matters, known.accepted_rows),
                known.tables_involved,
                known.difficulty,
                known.corpus,
            )
        raise UnknownFactsError("never executed, or out of order")

    return look_up


class Reports(NamedTuple):
    """What sidecars say, by question_id.

    order_matters: how far, for the questions whose answers have rows in an order.
    source_difficulties: what the corpus says of it, where it does.
    corpora: the corpus.
    solved_shares: the share of its rollouts that are right, where it has some.
    """

    order_matters: dict[str, Order]
    source_difficulties: dict[str, str]
    corpora: dict[str, str]
    solved_shares: dict[str, float]


def read_reports(audit_path: Path, pass_rates_path: Path) -> Reports:
    """What audit.jsonl and pass_rates.jsonl say."""
    reports = Reports({}, {}, {}, {})
    for record in read_jsonl(audit_path):
        question_id, source = record["question_id"], record["source"]
        if record["order_matters"]:
            reports.order_matters[question_id] = read_order(True, record["accepted_rows"])
        if source.get("difficulty") is not None:
            reports.source_difficulties[question_id] = source["difficulty"]
        reports.corpora[question_id] = sys.intern(source["corpus"])
    for rate in read_jsonl(pass_rates_path):
        if rate["total"]:
            reports.solved_shares[rate["question_id"]] = rate["suite"] / rate["total"]
    return reports
