"""The product is written from the selection."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from answerkey.dataset import SIDECARS
from answerkey.errors import InputError
from answerkey.records import SPLITS, encode_json, hash_file, read_jsonl, replace_file
from answerkey.sqlite.files import find_inside

Record = dict[str, Any]


def check_suite_files(suites: Path) -> None:
    """Make sure that each database of the suites in a sidecar is the file that it was made as.

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
