"""The selection between the stages: every source question is in it or excluded, once, and is what
the stages before it made of it. Nothing is executed, and nothing parsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from answerkey.base.records import hash_file, read_database_hashes, read_jsonl
from answerkey.dataset import AUDIT, EXCLUDED, INTERIM, SUITES, Record, read_classified
from answerkey.sections.select_questions import SelectQuestions
from answerkey.selection.policies import read_policies
from answerkey.sqlite.files import find_inside
from answerkey.validation.checks import check_set, find_well_formed, forbids_repeats, shorten

SELECTION = INTERIM / "selection"
DATABASES = Path("data/databases")


def check_selection(settings: SelectQuestions) -> list[str]:
    """The errors of the selection that lies here."""
    questions = list(read_jsonl(SELECTION / "questions.jsonl"))
    good, errors = find_well_formed(questions)
    known = list(read_classified())
    errors += check_set(
        good,
        targets=settings.targets,
        has_unique_texts=forbids_repeats(read_policies(settings.policies)),
        corpora={question.question_id: question.corpus for question in known},
    )
    expected = {question.question_id: question.product_record for question in known}
    excluded = [record["question_id"] for record in read_jsonl(SELECTION / EXCLUDED)]
    found = Counter([*excluded, *(question["question_id"] for question in questions)])
    errors += [
        f"{question_id}: expected {int(question_id in expected)} times among selected and excluded"
        f" questions, as it was loaded, found {found[question_id]} times"
        for question_id in sorted(found.keys() | expected.keys())
        if found[question_id] != (question_id in expected)
    ]
    errors += [
        f"{question['question_id']}: {field}: expected {shorten(value)}, as the stages before made"
        f" it, found {shorten(question[field])}"
        for question in good
        for field, value in expected.get(question["question_id"], {}).items()
        if question[field] != value
    ]
    return errors + check_sidecars(questions, SELECTION, read_database_hashes(DATABASES))


def check_sidecars(
    questions: Iterable[Record], folder: Path, hashes: Mapping[str, str]
) -> list[str]:
    """Sidecars that lack a question or have one too many, and databases, also those of test suites,
    that are not the ones on which gold SQL was executed.

    hashes: sha256 of each database by its name; one without is passed over.
    """
    names = {question["question_id"]: question["database_name"] for question in questions}
    errors = []
    for sidecar in (AUDIT, SUITES):
        found = Counter(record["question_id"] for record in read_jsonl(folder / sidecar))
        errors += [
            f"{question_id}: {sidecar}: expected {int(question_id in names)} records, found"
            f" {found[question_id]}"
            for question_id in sorted(found.keys() | names.keys())
            if found[question_id] != (question_id in names)
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
