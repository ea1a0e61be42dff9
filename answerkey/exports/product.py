"""The product: written from the selection, and read with what its sidecars know."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.dataset import AUDIT, SIDECARS, SPLITS, SUITES
from answerkey.errors import InputError
from answerkey.records import decode_json, encode_json, hash_file, read_jsonl, replace_file
from answerkey.sqlite.files import find_inside

Record = dict[str, Any]

# What a reward must know of a database of a suite.
_OF_DATABASE = ("path", "sha256", "gold_answer", "order_matters", "accepted_rows")


class AuditedQuestion(NamedTuple):
    """A question of the product, and its record in audit.jsonl with its `test_suite`: the databases
    of its record in test_suites.jsonl, or None."""

    question: Record
    audit: Record


def list_reward_terms(audit: Record) -> Record:
    """What a reward must know of a question beside its gold answer, as columns hold it.

    >>> list_reward_terms({"order_matters": True, "max_steps": 1000000, "rule": "strict",
    ...                    "accepted_rows": None, "test_suite": None,
    ...                    "database_sha256": "e3b0"})["rule"]
    'strict'

    `accepted_rows` and `test_suite` are JSON text, or None.
    """
    suite = audit["test_suite"]
    kept = suite and [{name: database[name] for name in _OF_DATABASE} for database in suite]
    return {
        **{name: audit[name] for name in ("order_matters", "max_steps", "rule")},
        "accepted_rows": _write_json(audit["accepted_rows"]),
        "test_suite": _write_json(kept or None),
        "database_sha256": audit["database_sha256"],
    }


def _write_json(value: Any) -> str | None:
    return None if value is None else encode_json(value).decode()


def read_questions(path: Path) -> Iterator[Record]:
    """The questions of a file of the product, without holding more than one.

    Raises:
        FileNotFoundError: where it is missing.
        InputError: with path and line, where it is not an array with one question a line.
    """
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro export_dataset`, or `dvc pull`")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            text = line.strip().removesuffix(b",")
            if text in (b"[", b"]"):
                continue
            try:
                yield decode_json(text)
            except ValueError as error:
                raise InputError(f"{path}:{number}: expected one question: {error}") from error


def read_product(folder: Path, split: str) -> Iterator[AuditedQuestion]:
    """The questions of a split, in their order, which is that of the sidecars too.

    Raises:
        InputError: where a sidecar has no record of a question, or has it elsewhere.
    """
    audits = read_jsonl(folder / AUDIT)
    suites = read_jsonl(folder / SUITES)
    for question in read_questions(folder / f"questions_{split}.json"):
        question_id = question["question_id"]
        audit = _find_record(folder / AUDIT, audits, question_id)
        suite = _find_record(folder / SUITES, suites, question_id)
        yield AuditedQuestion(question, {**audit, "test_suite": suite["databases"]})


def _find_record(path: Path, records: Iterator[Record], question_id: str) -> Record:
    """The record of a question, which stands behind those that were asked for before."""
    record = next((record for record in records if record["question_id"] == question_id), None)
    if record is None:
        raise InputError(
            f"{path}: {question_id} is missing, or out of step: run `dvc repro export_dataset`,"
            " or `dvc pull`"
        )
    return record


def check_suite_files(suites: Path) -> None:
    """Nothing, where each database of the suites in a sidecar is the file that it was made as.

    Raises:
        FileNotFoundError, InputError: with the first that is missing, or another file.
    """
    databases = (database for suite in read_jsonl(suites) for database in suite["databases"])
    for path, sha256 in {database["path"]: database["sha256"] for database in databases}.items():
        found = hash_file(find_inside(".", path))
        if found != sha256:
            raise InputError(
                f"{path}: expected sha256 {sha256}, as {suites} has it, found {found}: run"
                " `dvc repro`, which makes it again"
            )


def write_product(selection: Path, corpora: Path, folder: Path) -> dict[str, int]:
    """Write the selected questions of each split, the sidecars, and what is known of the corpora;
    how many questions each split has."""
    counts = {}
    for split in SPLITS:
        selected = read_jsonl(selection / "questions.jsonl")
        questions = (question for question in selected if question["split"] == split)
        counts[split] = write_questions(folder / f"questions_{split}.json", questions)
    for path in (*(selection / name for name in SIDECARS), corpora):
        with path.open("rb") as source, replace_file(folder / path.name) as file:
            shutil.copyfileobj(source, file)
    return counts


def write_questions(path: Path, questions: Iterable[Record]) -> int:
    """Write a JSON array, one question a line; how many."""
    count = 0
    with replace_file(path) as file:
        file.write(b"[")
        for question in questions:
            file.write((b",\n" if count else b"\n") + encode_json(question))
            count += 1
        file.write(b"\n]\n")
    return count
