"""Rollouts as files have them: JSON Lines in data/rollouts.

A line has `question_id`, `model` (by default the name of its file) and what that model answered:
`prediction` (SQL), `completion` (text or a chat), or a list of samples, `predictions` or
`completions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from answerkey.dataset import INTERIM
from answerkey.errors import InputError
from answerkey.evaluation.predictions import (
    EvaluatedQuestion,
    Prediction,
    PredictionsError,
    Record,
    read_records,
    read_samples,
)
from answerkey.evaluation.scoring import Folders, Score, score_predictions
from answerkey.params import Reward
from answerkey.records import read_jsonl
from answerkey.selection.product_records import bound_steps
from answerkey.shards.shard_directory import read_shards

# By question, by SQL (None: a completion without any): how many samples of each model. Equal
# samples are kept, and scored, once.
Rollouts = dict[str, dict[str | None, Counter[str]]]


def read_rollouts(folder: Path) -> Rollouts:
    """The rollouts of all files of a folder.

    Raises:
        InputError: with the file and the line, on a line that is no rollout.
    """
    rollouts: Rollouts = {}
    for path in sorted(folder.glob("*.jsonl")):
        try:
            for where, record in read_records(path):
                question_id, model = record.get("question_id"), record.get("model", path.stem)
                for name, value in (("question_id", question_id), ("model", model)):
                    if not isinstance(value, str):
                        raise InputError(f"{where}: {name}: expected a text, found {value!r:.80}")
                of_question = rollouts.setdefault(question_id, {})
                for sql in read_samples(record, where):
                    of_question.setdefault(sql, Counter())[model] += 1
        except PredictionsError as error:
            raise InputError(str(error)) from error
    return rollouts


def count_samples(rollouts: Rollouts, question_id: str) -> int:
    """How many samples of all models there are for a question."""
    return sum(models.total() for models in rollouts.get(question_id, {}).values())


# Pass rates: of the rollouts of a question, how many are right.


_COUNTS = ("total", "database", "suite")


def score_rollouts(
    rollouts: Rollouts,
    questions: Sequence[EvaluatedQuestion],
    folders: Folders,
    *,
    journal: Path,
    workers: int | None = None,
) -> list[Record]:
    """The pass rate of each question, in their order.

    journal: the file of what was scored before, which is read first and added to.

    Raises:
        FileNotFoundError: where a database is missing.
    """
    predictions = [
        Prediction(question.question_id, place, sql)
        for question in questions
        for place, sql in enumerate(rollouts[question.question_id])
    ]
    known = {question.question_id: question for question in questions}
    scores: dict[str, list[Score]] = {question_id: [] for question_id in known}
    for score in score_predictions(predictions, known, folders, journal=journal, workers=workers):
        scores[score.question_id].append(score)
    return [
        {"question_id": question_id, **count_right(rollouts[question_id], of_question)}
        for question_id, of_question in scores.items()
    ]


def count_right(samples: Mapping[str | None, Counter[str]], scores: Sequence[Score]) -> Record:
    """How many samples there are, how many are right on the database, and on the test suite as
    well; and the same of each model, by name.

    >>> right, wrong = Score("a", 0, "SELECT 1", True, True), Score("a", 1, None, False, False)
    >>> count_right({"SELECT 1": Counter(m=2), None: Counter(m=1)}, [right, wrong])["models"]
    {'m': {'total': 3, 'database': 2, 'suite': 2}}
    """
    by_count: dict[str, Counter[str]] = {name: Counter() for name in _COUNTS}
    for score in scores:
        models = samples[score.sql]
        by_count["total"].update(models)
        if score.on_database:
            by_count["database"].update(models)
        if score.on_suite:
            by_count["suite"].update(models)
    return {
        **{name: counts.total() for name, counts in by_count.items()},
        "models": {
            model: {name: counts[model] for name, counts in by_count.items()}
            for model in sorted(by_count["total"])
        },
    }


# The questions that rollouts are scored on: those with an answer and a parse, as the stages
# before selection wrote them.


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
