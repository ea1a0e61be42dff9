"""The questions that rollouts are scored on: those with an answer and a parse, as the stages before
selection wrote them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from answerkey.core.joined import INTERIM
from answerkey.core.records import read_jsonl
from answerkey.core.sections import Reward
from answerkey.evaluation.questions import EvaluatedQuestion, Record
from answerkey.selection.reward_terms import bound_steps
from answerkey.shards.shard_directory import read_shards


def read_scored_questions(
    wanted: Container[str], hashes: Mapping[str, str], reward: Reward, *, interim: Path = INTERIM
) -> Iterator[tuple[str, list[EvaluatedQuestion]]]:
    """Each database with those of the wanted questions that can be scored, in order.

    Raises:
        FileNotFoundError: where a file of an earlier stage is missing.
    """
    sources = read_jsonl(interim / "splits.jsonl")
    for name, of_database in groupby(sources, key=itemgetter("database_name")):
        asked = [source for source in of_database if source["question_id"] in wanted]
        if not asked:
            continue
        outcomes, audits, suites = (
            {record["question_id"]: record for record in read_shards(interim / stage, [name])}
            for stage in ("gold_answers", "audit", "test_suites")
        )
        known = [
            (source, outcomes[question_id], audits[question_id], suites[question_id])
            for source in asked
            if (question_id := source["question_id"]) in suites
        ]
        yield name, [_make_question(*records, hashes[name], reward) for records in known]


def _make_question(
    source: Record, outcome: Record, audit: Record, suite: Record, sha256: str, reward: Reward
) -> EvaluatedQuestion:
    return EvaluatedQuestion(
        source["question_id"],
        source["question_text"],
        source["database_name"],
        source["gold_sql"],
        outcome["gold_answer"],
        outcome["answer_type"],
        "",  # of difficulty, for which pass rates are made
        source["split"],
        terms={
            "order_matters": audit["order_matters"],
            "max_steps": bound_steps(outcome["steps"], reward),
            "rule": source["source"].get("grading_method") or reward.rule,
            "accepted_rows": audit["accepted_rows"],
            "database_sha256": sha256,
        },
        suite=suite["databases"],
    )
