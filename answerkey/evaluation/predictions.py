"""Predictions as files have them, each with the question of a dataset that it is for.

JSON Lines: `question_id`, and one of `prediction` (SQL), `completion` (what a model wrote: text or
a chat) or a list of samples, `predictions` or `completions`. Lines with the same question_id are
samples, too. A text file in Spider's order has the SQL of one question a line, for every question
of its source file, and perhaps a tab and the database; a JSON object in BIRD's order has it by the
place of the question, `{"0": "SELECT ...\\t----- bird -----\\tschool"}`. A database that is named
must be that of the question: predictions in another order would all be wrong. An empty line, or
what is no text, is no prediction. Lines end with a line feed: any other mark that ends a line
somewhere, such as U+2028, may stand in SQL.
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

_Placed = tuple[str, str | None]  # SQL, and the database that it names


class Dataset(NamedTuple):
    """What predictions may be for.

    name: where it was read, as messages say it.
    selected: the questions of the dataset by id, in its order.
    others: the usable questions that the dataset leaves out, by id; None if nobody kept them.
    answer_only: the questions that have accepted answers and no gold SQL, by id.
    excluded: why each other source question was left out, by id.
    row_counts: how many questions each source file has, by corpus and file.
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
    """The dataset of a folder of the product, such as data/questions. The other usable questions
    are in data/interim/selection, if that is there.

    Raises:
        FileNotFoundError: if a file of the product is missing, with what to do.
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
    """The predictions of a file for questions that can be scored, and how many there are for
    others, by why these were left out; `unknown`: no such question is known.

    source_file: the file of questions whose order a text file or a JSON object follows, such as
        dev.json. None: the only one of the eval split.

    Raises:
        FileNotFoundError: if there is no such file.
        InputError: on a line that is no prediction, on a text file with more or fewer lines than
            the source file has questions, on a prediction for another database than that of the
            question, and if no prediction is for a question of the dataset.
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
    # How many questions the file has, those of databases that were not chosen too.
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
        if len(lines) == count + 1 and not lines[-1]:  # behind the last line's end
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
    """The SQL of each line, and the database behind its last tab, if lines of this file have one.
    A single line does not tell: SQL may have a tab, and a table the name of a database."""
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
