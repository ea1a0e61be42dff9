"""Rollouts: what models answered, scored as predictions are, and counted as pass rates."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from answerkey.dataset import Question, Record
from answerkey.evaluation.predictions import Prediction
from answerkey.evaluation.samples import Rollouts
from answerkey.evaluation.scoring import Folders, Score, score_predictions
from answerkey.scoring.comparison import cut_texts
from answerkey.sqlite.answers import answer_rows

_COUNTS = ("total", "database", "suite")

# What is worth a flag: the share of models that agree, by the kind of the evidence.
_SHARES = {
    "most": Fraction(2, 3),
    "half": Fraction(1, 2),
    "third": Fraction(1, 3),
    "some": Fraction(1, 6),
}
_FEWEST_MODELS = 3
_ROWS_SHOWN = 3


def score_rollouts(
    rollouts: Rollouts,
    questions: Sequence[Question],
    folders: Folders,
    *,
    journal: Path,
    workers: int | None = None,
) -> list[Record]:
    """The pass rate of each question, in their order, and the agreement of models, if there is one.

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
    rates = []
    for question_id, of_question in scores.items():
        samples, gold_answer = rollouts[question_id], known[question_id].gold_answer
        rates.append({"question_id": question_id, **count_right(samples, of_question)})
        if (agreement := find_agreement(samples, of_question, gold_answer)) is not None:
            rates[-1]["agreement"] = agreement
    return rates


def find_agreement(
    samples: Mapping[str | None, Counter[str]], scores: Sequence[Score], gold_answer: Any
) -> Record | None:
    """The answer that most models agree on among those that are not gold's: its kind by their
    share, how many models of how many, the shortest of their queries, and its first rows.

    >>> wrong = Score("a", 0, "SELECT 4", False, False, rows=[[4]], row_count=1, meaning="four")
    >>> find_agreement({"SELECT 4": Counter(a=1, b=1), None: Counter(c=1)}, [wrong], 5)
    {'kind': 'most', 'models': 2, 'of': 3, 'sql': 'SELECT 4', 'row_count': 1, 'rows': [[4]]}

    Two predictions are the same answer if their rows are, on the database and on the test suite. A
    model gives an answer if at least half of its samples do. Return None if fewer than three
    models answered, or too few of them agree.
    """
    asked = sum(samples.values(), Counter[str]())
    given: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for score in scores:
        if score.meaning is not None:
            given[score.meaning].update(samples[score.sql])
    models = {
        meaning: sum(2 * count >= asked[model] for model, count in counts.items())
        for meaning, counts in given.items()
    }
    if len(asked) < _FEWEST_MODELS or not models:
        return None
    most = max(models, key=lambda meaning: (models[meaning], meaning))
    share = Fraction(models[most], len(asked))
    kind = next((kind for kind, least in _SHARES.items() if share >= least), None)
    if kind is None:
        return None
    shortest = min(
        (score for score in scores if score.meaning == most),
        key=lambda score: (len(score.sql), score.sql),
    )
    rows = answer_rows(gold_answer) if shortest.rows is None else shortest.rows
    return {
        "kind": kind,
        "models": models[most],
        "of": len(asked),
        "sql": shortest.sql,
        "row_count": len(rows) if shortest.row_count is None else shortest.row_count,
        "rows": [list(cut_texts(row)) for row in rows[:_ROWS_SHOWN]],
    }


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
