"""Rollouts: what models answered, scored as predictions are, and counted as pass rates.

They are JSON Lines in data/rollouts. A line has `question_id`, `model` (by default the name of its
file) and what that model answered: `prediction` (SQL), `completion` (text or a chat), or a list of
samples, `predictions` or `completions`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from answerkey.dataset import Question, Record
from answerkey.errors import InputError
from answerkey.evaluation.predictions import Prediction, read_records, read_samples
from answerkey.evaluation.scoring import Folders, Score, score_predictions

# By question, by SQL (None: a completion without any): how many samples of each model. Equal
# samples are kept, and scored, once.
Rollouts = dict[str, dict[str | None, Counter[str]]]

_COUNTS = ("total", "database", "suite")


def read_rollouts(folder: Path) -> Rollouts:
    """The rollouts of all files of a folder.

    Raises:
        InputError: with the file and the line, on a line that is no rollout.
    """
    rollouts: Rollouts = {}
    for path in sorted(folder.glob("*.jsonl")):
        for where, record in read_records(path):
            question_id, model = record.get("question_id"), record.get("model", path.stem)
            for name, value in (("question_id", question_id), ("model", model)):
                if not isinstance(value, str):
                    raise InputError(f"{where}: {name}: expected a text, found {value!r:.80}")
            of_question = rollouts.setdefault(question_id, {})
            for sql in read_samples(record, where):
                of_question.setdefault(sql, Counter())[model] += 1
    return rollouts


def count_samples(rollouts: Rollouts, question_id: str) -> int:
    """How many samples of all models there are for a question."""
    return sum(models.total() for models in rollouts.get(question_id, {}).values())


def score_rollouts(
    rollouts: Rollouts,
    questions: Sequence[Question],
    folders: Folders,
    *,
    journal: Path,
    workers: int | None = None,
) -> list[Record]:
    """The pass rate of each question, in their order.

    journal: the file of what was scored before, which is read first and added to.

    Raises:
        FileNotFoundError: if a database is missing.
    """
    known = {question.question_id: question for question in questions}
    predictions = [
        Prediction(question_id, place, sql)
        for question_id in known
        for place, sql in enumerate(rollouts[question_id])
    ]
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
    total, database, suite = Counter[str](), Counter[str](), Counter[str]()
    for score in scores:
        models = samples[score.sql]
        total.update(models)
        database.update(models if score.on_database else ())
        suite.update(models if score.on_suite else ())
    by_count = dict(zip(_COUNTS, (total, database, suite), strict=True))
    return {
        **{name: counts.total() for name, counts in by_count.items()},
        "models": {
            model: {name: counts[model] for name, counts in by_count.items()}
            for model in sorted(total)
        },
    }
