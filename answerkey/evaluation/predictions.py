"""Predictions as files have them, each with the question of a dataset that it is for.

JSON Lines: `question_id`, and one of `prediction` (SQL), `completion` (what a model wrote: text or
a chat) or a list of samples, `predictions` or `completions`. Lines with the same question_id are
samples, too. A text file in Spider's order has the SQL of one question a line, for every question
of its source file; a JSON object in BIRD's order has it by the place of the question,
`{"0": "SELECT ...\\t----- bird -----\\tschool"}`. Lines end with a line feed: any other mark that
ends a line somewhere, such as U+2028, may stand in SQL.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.dataset import EXCLUDED, read_product
from answerkey.errors import InputError
from answerkey.records import EVAL, SPLITS, read_json, read_jsonl
from answerkey.scoring.completions import extract_sql, read_completion

_SQL, _COMPLETION = "prediction", "completion"
_BIRD_MARK = "\t----- bird -----\t"


class Prediction(NamedTuple):
    """SQL for a question; sql: None if the completion has none. sample: its place among those
    for the question, from 0."""

    question_id: str
    sample: int
    sql: str | None


class Dataset:
    """A folder such as data/questions.

    questions: by id, in the order of the product.
    excluded: why each other source question was left out, by id.

    Raises:
        FileNotFoundError: if a file of it is missing, with what to do.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.questions = {
            question.question_id: question
            for split in SPLITS
            for question in read_product(folder, split)
        }
        self.excluded = {
            record["question_id"]: record["reason"] for record in read_jsonl(folder / EXCLUDED)
        }


def read_predictions(
    path: Path, dataset: Dataset, *, source_file: str | None = None
) -> tuple[list[Prediction], dict[str, int]]:
    """The predictions for questions of the dataset, and how many there are for others, by why
    these were left out of it.

    source_file: the file of questions whose order a text file or a JSON object follows, such as
        dev.json. None: the only one of the eval split.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: on a line that is no prediction, a question_id that the corpus does not have,
            and a text file with more or fewer lines than the source file has questions.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file of predictions, found none")
    if path.suffix == ".jsonl":
        pairs = _read_lines(path, dataset)
    else:
        pairs = _read_in_order(path, dataset, source_file)
    found: list[Prediction] = []
    samples: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for question_id, sql in pairs:
        if question_id not in dataset.questions:
            left_out[dataset.excluded.get(question_id, "not in the dataset")] += 1
            continue
        found.append(Prediction(question_id, samples[question_id], sql))
        samples[question_id] += 1
    if not found:
        raise InputError(f"{path}: no prediction for a question of {dataset.folder}")
    return found, dict(sorted(left_out.items()))


def _read_lines(path: Path, dataset: Dataset) -> Iterator[tuple[str, str | None]]:
    for where, record in read_records(path):
        question_id = record.get("question_id")
        if not isinstance(question_id, str) or not (
            question_id in dataset.questions or question_id in dataset.excluded
        ):
            raise InputError(
                f"{where}: expected the question_id of a question of {dataset.folder}, found"
                f" {question_id!r:.80}"
            )
        for sql in read_samples(record, where):
            yield question_id, sql


def read_records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of JSON Lines, each with words that say where it stands.

    Raises:
        InputError: on a line that is no object.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{where}: expected a JSON object: {error}") from error
            if not isinstance(record, dict):
                raise InputError(f"{where}: expected a JSON object, found {record!r:.80}")
            yield where, record


def read_samples(record: dict[str, Any], where: str) -> list[str | None]:
    """The SQL of each sample in a line; None if a completion has none.

    Raises:
        InputError: if the line has no samples, or predictions that are no SQL.
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


def _read_in_order(
    path: Path, dataset: Dataset, source_file: str | None
) -> Iterator[tuple[str, str | None]]:
    corpus, file = _find_source(dataset, source_file)
    # How many questions the file has, those of databases that were not chosen too.
    count = read_json(dataset.folder / "corpora.json")[corpus]["rows"][file]
    ids = {
        question.source["index"]: question.question_id
        for question in dataset.questions.values()
        if (question.corpus, question.source["file"]) == (corpus, file)
    }
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected text as UTF-8: {error}") from error
    if path.suffix == ".json":
        found = _read_by_place(path, text, count)
    else:
        lines = text.removesuffix("\n").split("\n")
        if len(lines) != count:
            raise InputError(
                f"{path}: expected {count:,} lines, one for each question of {file} of corpus"
                f" {corpus}, found {len(lines):,}"
            )
        found = {place: line.partition("\t")[0] for place, line in enumerate(lines)}
    for place, sql in sorted(found.items()):
        yield ids.get(place, ""), sql.strip() or None


def _read_by_place(path: Path, text: str, count: int) -> dict[int, str]:
    """The SQL of a JSON object by its place, which is one of `count`."""
    found = {}
    try:
        for place, marked in json.loads(text).items():
            if int(place) not in range(count) or int(place) in found:
                raise ValueError(f"expected places from 0 to {count - 1:,}, each once: {place}")
            found[int(place)] = marked.partition(_BIRD_MARK)[0]
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f'{path}: expected an object of SQL by place, as {{"0": "SELECT ..."}}: {error}'
        ) from error
    return found


def _find_source(dataset: Dataset, source_file: str | None) -> tuple[str, str]:
    """The corpus and the source file of questions whose order predictions follow."""
    files = {
        (question.split, question.corpus, question.source["file"])
        for question in dataset.questions.values()
    }
    chosen = {
        (corpus, file)
        for split, corpus, file in files
        if (split == EVAL if source_file is None else file == source_file)
    }
    if len(chosen) != 1:
        named = ", ".join(sorted({file for *_, file in files}))
        raise InputError(
            f"source_file: expected the file whose order the predictions follow, one of {named};"
            f" found {source_file or 'none'}"
        )
    return chosen.pop()
