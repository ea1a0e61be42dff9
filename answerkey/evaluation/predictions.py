"""Read files of predictions, each with the question of a dataset that it answers.

JSON Lines: `question_id`, and one of `prediction` (SQL), `completion` (a model's output: text or a
chat) or a list of samples, `predictions` or `completions`. Lines with the same question_id are
samples, too. A text file in Spider's order has the SQL of one question per line, for every question
of its source file, optionally with a tab and the database. A JSON object in BIRD's order has it by
the position of the question, `{"0": "SELECT ...\\t----- bird -----\\tschool"}`. A named database
must be that of the question: predictions in another order would all be wrong. An empty line, or a
value that is no text, is no prediction. Only a line feed ends a line: other marks, such as U+2028,
may be part of SQL.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.records import (
    EVAL,
    SPLITS,
    decode_strictly,
    read_json,
    read_jsonl,
    read_lines,
)
from answerkey.dataset import (
    EXCLUDED,
    NOT_SELECTED,
    SELECTION,
    Question,
    read_answer_only,
    read_not_selected,
    read_product,
)
from answerkey.evaluation.samples import read_samples
from answerkey.evaluation.scoring import Prediction
from answerkey.scoring.completions import explain_fence

UNKNOWN = "unknown"  # no question has the id

_BIRD_MARK = "\t----- bird -----\t"

_Placed = tuple[str, str | None]  # SQL, and the database named beside it


class Dataset(NamedTuple):
    """The questions that predictions may answer.

    name: where it was read, for messages.
    selected: the questions of the dataset by id, in its order.
    others: the usable questions that the dataset leaves out, by id; None if they were not kept.
    answer_only: the questions with accepted answers but no gold SQL, by id.
    excluded: why each other source question was left out, by id.
    row_counts: the number of questions of each source file, by corpus and file.
    """

    name: str
    selected: dict[str, Question]
    others: dict[str, Question] | None = None
    answer_only: Mapping[str, Question] = {}
    excluded: Mapping[str, str] = {}
    row_counts: Mapping[str, Mapping[str, int]] = {}

    @property
    def questions(self) -> dict[str, Question]:
        return {**self.selected, **(self.others or {}), **self.answer_only}


def index(questions: Iterable[Question]) -> dict[str, Question]:
    return {question.question_id: question for question in questions}


def read_dataset(folder: Path) -> Dataset:
    """Return the dataset of a folder of the product, such as data/questions. Its other usable
    questions are read from data/interim/selection, if that exists.

    Raises:
        FileNotFoundError: a file of the product is missing; the message says what to do.
    """
    selection = folder.parent / SELECTION
    is_kept = (selection / NOT_SELECTED).is_file()
    corpora = read_json(folder / "corpora.json")
    excluded = list(read_jsonl(folder / EXCLUDED))
    return Dataset(
        str(folder),
        index(question for split in SPLITS for question in read_product(folder, split)),
        index(read_not_selected(selection)) if is_kept else None,
        index(read_answer_only(excluded)),
        {record["question_id"]: record["reason"] for record in excluded},
        {corpus: known["rows"] for corpus, known in corpora.items()},
    )


def read_predictions(
    path: Path, dataset: Dataset, *, source_file: str | None = None
) -> tuple[list[Prediction], dict[str, int]]:
    """Return the predictions of a file for questions that can be scored. Also count the others, by
    the reason why their question was left out; `unknown`: there is no such question.

    source_file: the file of questions, such as dev.json, whose order a text file or a JSON object
        follows. None: the only one of the eval split.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: a line is no prediction, a text file has another number of lines than the source
            file has questions, a prediction is for another database than its question, or no
            prediction is for a question of the dataset.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path}: expected a file of predictions, found none")
    if path.suffix == ".jsonl":
        pairs = _read_lines(path)
    else:
        pairs = _read_in_order(path, dataset, source_file)
    questions = dataset.questions
    predictions: list[Prediction] = []
    samples: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    for question_id, sql in pairs:
        if question_id not in questions:
            left_out[dataset.excluded.get(question_id, UNKNOWN)] += 1
            continue
        predictions.append(Prediction(question_id, samples[question_id], sql))
        samples[question_id] += 1
    if not predictions:
        raise InputError(f"{path}: no prediction for a question of {dataset.name}")
    fenced = sum(
        prediction.sql is not None and bool(explain_fence(prediction.sql))
        for prediction in predictions
    )
    if 2 * fenced >= len(predictions):
        print(
            f"{path}: {fenced:,} of {len(predictions):,} predictions stand in fences (```sql),"
            ' which SQLite refuses: name them "completion" in JSON Lines',
            file=sys.stderr,
        )
    return predictions, dict(sorted(left_out.items()))


def _read_lines(path: Path) -> Iterator[tuple[str, str | None]]:
    for where, record in read_lines(path):
        question_id = record.get("question_id")
        if not isinstance(question_id, str):
            raise InputError(f"{where}: question_id: expected a text, found {question_id!r:.80}")
        for sql in read_samples(record, where):
            yield question_id, sql


def _read_in_order(
    path: Path, dataset: Dataset, source_file: str | None
) -> Iterator[tuple[str, str | None]]:
    corpus, file = _find_source(dataset, source_file)
    # The number of questions in the file, also of databases that were not chosen.
    count = dataset.row_counts[corpus][file]
    asked = {
        question.source["index"]: question
        for question in dataset.questions.values()
        if (question.corpus, question.source["file"]) == (corpus, file)
    }
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected text as UTF-8: {error}") from error
    if path.suffix == ".json":
        predicted = _read_by_place(path, text, count)
    else:
        lines = text.split("\n")
        if len(lines) == count + 1 and not lines[-1]:  # after the last line feed
            lines.pop()
        if len(lines) != count:
            raise InputError(
                f"{path}: expected {spell_count(count, 'line', ',')}, one for each question of"
                f" {file} of corpus {corpus}, found {len(lines) - (not lines[-1]):,}"
            )
        databases = {question.database_name for question in dataset.questions.values()}
        predicted = _cut_databases(lines, asked, databases)
    for row_index, (sql, database) in sorted(predicted.items()):
        question = asked.get(row_index)
        if question and database not in (None, question.database_name):
            raise InputError(
                f"{path}: place {row_index:,} is for database {database}, expected"
                f" {question.database_name}, that of {question.question_id}: predictions in the"
                f" order of {file} of corpus {corpus}, or JSON Lines with question_id"
            )
        yield "" if question is None else question.question_id, sql.strip() or None


def _cut_databases(
    lines: list[str], asked: Mapping[int, Question], databases: Container[str]
) -> dict[int, _Placed]:
    """Return the SQL of each line, and the database after its last tab, if the lines of this file
    have one. A single line cannot decide this: SQL may have a tab, and a table the database's
    name."""
    parts = [line.rpartition("\t") for line in lines]
    named = [bool(tab) and name.strip() in databases for _, tab, name in parts]
    filled = [line_index for line_index in asked if lines[line_index].strip()]
    has_databases = 2 * sum(named[line_index] for line_index in filled) > len(filled)
    return {
        line_index: (sql, name.strip())
        if has_databases and named[line_index]
        else (lines[line_index], None)
        for line_index, (sql, _, name) in enumerate(parts)
    }


def _read_by_place(path: Path, text: str, count: int) -> dict[int, _Placed]:
    predicted: dict[int, _Placed] = {}
    try:
        for key, marked in decode_strictly(text).items():
            if int(key) not in range(count) or int(key) in predicted:
                raise ValueError(f"expected places from 0 to {count - 1:,}, each once: {key}")
            sql, mark, database = (marked if isinstance(marked, str) else "").partition(_BIRD_MARK)
            predicted[int(key)] = sql, database.strip() if mark else None
    except (ValueError, AttributeError, RecursionError) as error:
        raise InputError(
            f'{path}: expected an object of SQL by place, as {{"0": "SELECT ..."}}: {error}'
        ) from error
    return predicted


def _find_source(dataset: Dataset, source_file: str | None) -> tuple[str, str]:
    files = {
        (question.split, question.corpus, question.source["file"])
        for question in dataset.questions.values()
        if question.source
    }
    if not files:
        raise InputError(
            f"{dataset.name} does not say which source file its questions are from: expected JSON"
            " Lines with question_id, or the folder of the product as dataset"
        )
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
