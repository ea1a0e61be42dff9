"""Pass rates: of the rollouts of a question, how many are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from answerkey.evaluation.predictions import Prediction
from answerkey.evaluation.questions import EvaluatedQuestion, Record
from answerkey.evaluation.scoring import Folders, Score, score_predictions
from answerkey.rollouts.rollout_files import Rollouts

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
