"""Samples: the outputs of models in JSON Lines.

A line of data/rollouts has `question_id`, `model` (by default the name of its file) and the output
of that model: `prediction` (SQL), `completion` (text or a chat), or a list of samples,
`predictions` or `completions`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.records import list_files, read_lines
from answerkey.scoring.completions import extract_sql, read_completion

_SQL, _COMPLETION = "prediction", "completion"

# The number of samples of each model, by question and by SQL (None: a completion without SQL).
# Equal samples are stored, and scored, once.
Rollouts = dict[str, dict[str | None, Counter[str]]]


def read_rollouts(folder: Path) -> Rollouts:
    """Return the rollouts of all files of a folder.

    Raises:
        InputError: names the file and the line that is no rollout.
    """
    rollouts: Rollouts = {}
    for path in list_files(folder, "*.jsonl"):
        for where, record in read_lines(path):
            question_id = _read_name(where, "question_id", record.get("question_id"))
            model = _read_name(where, "model", record.get("model", path.stem))
            of_question = rollouts.setdefault(question_id, {})
            for sql in read_samples(record, where):
                of_question.setdefault(sql, Counter())[model] += 1
    return rollouts


def _read_name(where: str, name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: {name}: expected a text, found {value!r:.80}")
    return value


def choose_queries(rollouts: Rollouts) -> dict[str, list[str]]:
    """Return the query that each model gave most often, by question, sorted.

    >>> choose_queries({"a": {"SELECT 1": Counter(m=2), "SELECT 2": Counter(m=1, n=1)}})
    {'a': ['SELECT 1', 'SELECT 2']}
    """
    chosen = {}
    for question_id, samples in rollouts.items():
        most: dict[str, tuple[int, str]] = {}
        for sql, models in samples.items():
            for model, count in models.items():
                most[model] = max(most.get(model, (0, "")), (count, sql or ""))
        chosen[question_id] = sorted(sql for _, sql in most.values() if sql)
    return chosen


def read_samples(record: dict[str, Any], where: str) -> list[str | None]:
    """Return the SQL of each sample in a line; None for a completion without SQL.

    Raises:
        InputError: the line has no samples, or predictions that are no SQL.
    """
    names = [name for name in record if name.removesuffix("s") in (_SQL, _COMPLETION)]
    if len(names) != 1:
        raise InputError(
            f"{where}: expected one of prediction, predictions, completion and completions, found"
            f" {', '.join(names) or 'none'}"
        )
    (name,) = names
    samples = record[name] if name.endswith("s") else [record[name]]
    if not isinstance(samples, list):
        raise InputError(f"{where}: {name}: expected a list, found {samples!r:.80}")
    if name.removesuffix("s") == _COMPLETION:
        return [extract_sql(read_completion(sample)) for sample in samples]
    if not all(isinstance(sample, str | None) for sample in samples):
        raise InputError(f"{where}: {name}: expected SQL as text, found {samples!r:.80}")
    return samples
