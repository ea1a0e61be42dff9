"""Rollouts as files have them: JSON Lines in data/rollouts.

A line has `question_id`, `model` (by default the name of its file) and what that model answered:
`prediction` (SQL), `completion` (text or a chat), or a list of samples, `predictions` or
`completions`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from answerkey.core.errors import InputError
from answerkey.evaluation.predictions import PredictionsError, read_records, read_samples

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
