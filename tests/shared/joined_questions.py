"""Joined questions of which a test says only what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from answerkey.base.records import write_jsonl
from answerkey.dataset import JOINED, Question


def make_joined(question_id: str, **known: Any) -> Question:
    """A question of corpus x; what is not given is None."""
    empty = dict.fromkeys(Question._fields)
    names = {"question_id": question_id, "source": {"corpus": "x"}, "flags": []}
    return Question(**empty | names | known)


def write_joined(folder: Path, questions: Iterable[Question]) -> None:
    """Write the table of joined questions into a folder."""
    records = [question._asdict() for question in questions]
    for record in records:
        del record["difficulty"]
    write_jsonl(folder / JOINED, records)
