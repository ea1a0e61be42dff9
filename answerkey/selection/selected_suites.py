"""The test suites of the selected questions, as a file beside them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from answerkey.core.errors import InputError
from answerkey.core.joined import NEXT_STEP, Record
from answerkey.core.records import read_jsonl, write_jsonl

_FIELDS = ("question_id", "mutation_score", "operators", "alive", "databases")


def write_suites(path: Path, questions: Iterable[Record], shards: Path) -> None:
    """Write the test suite of each question, in their order, which is that of the shards.

    Raises:
        FileNotFoundError: where the shard of a database is missing.
        InputError: where a shard has no record of a question, or has it elsewhere.
    """
    write_jsonl(
        path,
        (
            {field: suite[field] for field in _FIELDS}
            for name, asked in groupby(questions, key=itemgetter("database_name"))
            for suite in _take(asked, shards / f"{name}.jsonl")
        ),
    )


def _take(questions: Iterable[Record], shard: Path) -> Iterable[Record]:
    suites = read_jsonl(shard)
    for question in questions:
        question_id = question["question_id"]
        suite = next((suite for suite in suites if suite["question_id"] == question_id), None)
        if suite is None:
            raise InputError(f"{shard}: no test suite of {question_id}: {NEXT_STEP}")
        yield suite
