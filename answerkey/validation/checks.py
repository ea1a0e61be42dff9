"""Check records, the dataset they form, and the selection between the stages. Each check returns
all errors, with the expected value. Nothing is executed or parsed.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from answerkey.base.paths import DATABASES, SELECTION
from answerkey.base.records import (
    DIFFICULTIES,
    SPLITS,
    hash_file,
    read_database_hashes,
    read_jsonl,
    read_share,
)
from answerkey.dataset import AUDIT, EXCLUDED, FIELDS, SUITES, Record, read_classified
from answerkey.engines.answers import ANSWER_TYPES, answer_rows, classify_answer_type
from answerkey.engines.sqlite.files import find_inside
from answerkey.sections.select_questions import SelectQuestions, Targets

_TEXT_FIELDS = ("question_id", "question_text", "database_name", "gold_sql")
_VOCABULARIES = {"answer_type": ANSWER_TYPES, "difficulty": DIFFICULTIES, "split": SPLITS}
_PREFIX = re.compile(r"[A-Za-z0-9_-]*")
_SHOWN_CHARACTERS = 200


class ValidationError(Exception):
    """A dataset that failed; the message counts the errors and lists every one."""

    def __init__(self, errors: list[str]) -> None:
        failed = f"Validation failed with {len(errors)} errors"  # a fixed text, also for one error
        super().__init__("\n".join([failed, *errors]))
        self.errors = errors


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def find_well_formed(questions: Iterable[Any]) -> tuple[list[Record], list[str]]:
    """Return the records that follow the contract, and the errors of the others."""
    good, errors = [], []
    for number, question in enumerate(questions):
        if mistakes := check_record(question):
            has_name = isinstance(question, dict) and "question_id" in question
            name = question["question_id"] if has_name else f"record {number}"
            errors += [f"{name}: {error}" for error in mistakes]
        else:
            good.append(question)
    if not good and not errors:
        errors.append("dataset: expected questions, found none")
    return good, errors


def check_record(question: Any) -> list[str]:
    """Return the errors of one record: its fields, their types and vocabularies, and its id."""
    if not isinstance(question, dict):
        return [f"expected an object with {len(FIELDS)} fields, found {shorten(question)}"]
    if tuple(question) != FIELDS:
        return [f"fields: expected {', '.join(FIELDS)}, found {', '.join(map(str, question))}"]
    errors = [
        f"{field}: expected text, found {question[field]!r}"
        for field in _TEXT_FIELDS
        if not isinstance(question[field], str) or not question[field].strip()
    ]
    errors += [
        f"{field}: expected one of {', '.join(words)}, found {question[field]!r}"
        for field, words in _VOCABULARIES.items()
        if question[field] not in words
    ]
    tables = question["tables_involved"]
    if (
        not isinstance(tables, list)
        or not all(isinstance(table, str) for table in tables)
        or tables != sorted(set(tables))
    ):
        errors.append(f"tables_involved: expected sorted, unique names, found {tables!r}")
    errors += _check_answer(question["gold_answer"], question["answer_type"])
    return errors or _check_id(question)


def _check_answer(answer: Any, answer_type: str) -> list[str]:
    try:
        expected = classify_answer_type(answer)
    except ValueError as error:
        return [f"gold_answer: {error}"]
    if expected != answer_type:
        return [f"answer_type: expected {expected} for this answer, found {answer_type!r}"]
    if not all(_is_value(value) for row in answer_rows(answer) for value in row):
        return ["gold_answer: expected rows of numbers, text and null, nothing deeper"]
    return []


def _is_value(value: Any) -> bool:
    is_finite = type(value) is float and math.isfinite(value)
    return value is None or is_finite or type(value) in (int, str)


def _check_id(question: Record) -> list[str]:
    stem = f"{question['database_name']}_{question['split']}"
    start, _, number = question["question_id"].rpartition("_")
    is_good = start.endswith(stem) and len(number) >= 3 and number.isdecimal()
    # A corpus that uses another one's databases puts a prefix before their names.
    if is_good and _PREFIX.fullmatch(start.removesuffix(stem)):
        return []
    return [f"question_id: expected {stem}_ and three digits or more"]


def check_set(
    questions: list[Record],
    *,
    targets: Targets | None,
    corpora: Mapping[str, str],
    crossing: Container[str] = (),
) -> list[str]:
    """Return the errors of well-formed records together: repeated ids, databases in both splits,
    and missed targets.

    corpora: the corpus of each question id.
    crossing: the corpora whose databases may be in both splits.
    """
    counts = Counter(question["question_id"] for question in questions)
    errors = [
        f"{question_id}: question_id: expected once, found {count} times"
        for question_id, count in sorted(counts.items())
        if count > 1
    ]
    splits = defaultdict(set)
    may_cross = set()
    for question in questions:
        splits[question["database_name"]].add(question["split"])
        if corpora.get(question["question_id"]) in crossing:
            may_cross.add(question["database_name"])
    errors += [
        f"{name}: split: expected one split a database, found {', '.join(sorted(splits_of_name))}"
        for name, splits_of_name in sorted(splits.items())
        if len(splits_of_name) > 1 and name not in may_cross
    ]
    return errors if targets is None else errors + _check_targets(questions, targets, corpora)


def _check_targets(
    questions: list[Record], targets: Targets, corpora: Mapping[str, str]
) -> list[str]:
    size = len(questions)
    errors = []
    if targets.min_questions is not None and size < targets.min_questions:
        errors.append(f"size: expected at least {targets.min_questions}, found {size}")
    if targets.max_questions is not None and size > targets.max_questions:
        errors.append(f"size: expected at most {targets.max_questions}, found {size}")
    named = [{**record, "corpus": corpora.get(record["question_id"])} for record in questions]

    def count(names: Mapping[str, str]) -> int:
        return sum(all(record[field] == name for field, name in names.items()) for record in named)

    for asked in targets.list_shares():
        part, whole = count(asked.part), count(asked.whole)
        distance = abs(part - read_share(asked.share) * whole)
        if distance > read_share(targets.tolerance) * whole:
            errors.append(
                f"share of {' '.join(asked.part.values())}: expected {asked.share:g} within"
                f" {targets.tolerance:g}, found {part / whole:.4f} ({part} of {whole})"
            )
    caps = {"database_name": targets.max_per_database, "answer_type": None}
    if targets.max_answer_type_share is not None:
        caps["answer_type"] = int(read_share(targets.max_answer_type_share) * size)
    for field, most in caps.items():
        counts = Counter(question[field] for question in questions)
        errors += [
            f"{field} {name}: expected at most {most}, found {count_of_name}"
            for name, count_of_name in sorted(counts.items())
            if most is not None and count_of_name > most
        ]
    return errors


# The selection, and sidecars.


def check_selection(settings: SelectQuestions, *, crossing: Container[str]) -> list[str]:
    """Return the errors of the selection in this project: every source question must be selected or
    excluded, once, and agree with the earlier stages. `crossing` is as for `check_set`."""
    questions = list(read_jsonl(SELECTION / "questions.jsonl"))
    good, errors = find_well_formed(questions)
    known = list(read_classified())
    errors += check_set(
        good,
        targets=settings.targets,
        corpora={question.question_id: question.corpus for question in known},
        crossing=crossing,
    )
    expected = {question.question_id: question.product_record for question in known}
    excluded = [record["question_id"] for record in read_jsonl(SELECTION / EXCLUDED)]
    counts = Counter([*excluded, *(question["question_id"] for question in questions)])
    errors += [
        f"{question_id}: expected {wanted} times among selected and excluded questions, as it was"
        f" loaded, found {count} times"
        for question_id, count, wanted in _list_miscounted(counts, expected)
    ]
    errors += [
        f"{question['question_id']}: {field}: expected {shorten(value)}, as the stages before made"
        f" it, found {shorten(question[field])}"
        for question in good
        for field, value in expected.get(question["question_id"], {}).items()
        if question[field] != value
    ]
    return errors + check_sidecars(questions, SELECTION, read_database_hashes(DATABASES))


def _list_miscounted(
    counts: Counter[str], expected: Mapping[str, object]
) -> Iterator[tuple[str, int, int]]:
    """Yield each id that does not occur as often as expected (once, or never): how often it occurs,
    and how often it should."""
    for question_id in sorted(counts.keys() | expected.keys()):
        if counts[question_id] != (wanted := int(question_id in expected)):
            yield question_id, counts[question_id], wanted


def check_sidecars(
    questions: Iterable[Record], folder: Path, hashes: Mapping[str, str]
) -> list[str]:
    """Return errors of sidecars that lack a question or have one too many, and of databases, also
    of test suites, on which gold SQL was not executed.

    hashes: the sha256 of each database by its name; others are not checked.
    """
    names = {question["question_id"]: question["database_name"] for question in questions}
    errors = []
    for sidecar in (AUDIT, SUITES):
        counts = Counter(record["question_id"] for record in read_jsonl(folder / sidecar))
        errors += [
            f"{question_id}: {sidecar}: expected {wanted} records, found {count}"
            for question_id, count, wanted in _list_miscounted(counts, names)
        ]
    files = {
        (names[record["question_id"]], record["database_sha256"])
        for record in read_jsonl(folder / AUDIT)
        if record["question_id"] in names
    }
    errors += [
        f"{name}: database_sha256: expected {sha256}, found {hashes[name]}"
        for name, sha256 in sorted(files)
        if hashes.get(name, sha256) != sha256
    ]
    files = {
        (database["path"], database["sha256"])
        for record in read_jsonl(folder / SUITES)
        for database in record["databases"]
    }
    for path, sha256 in sorted(files):
        file = find_inside(".", path)
        if not file.is_file():
            errors.append(f"{path}: expected a database of a test suite: run `dvc pull`")
        elif (actual := hash_file(file)) != sha256:
            errors.append(f"{path}: expected sha256 {sha256}, found {actual}")
    return errors
