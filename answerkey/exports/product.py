"""The product is written from the selection."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from answerkey.base.records import SPLITS, encode_json, read_jsonl, replace_file
from answerkey.dataset import SIDECARS


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


def write_questions(path: Path, questions: Iterable[dict[str, Any]]) -> int:
    """Write a JSON array, one question a line; how many."""
    count = 0
    with replace_file(path) as file:
        file.write(b"[")
        for question in questions:
            file.write((b",\n" if count else b"\n") + encode_json(question))
            count += 1
        file.write(b"\n]\n")
    return count
