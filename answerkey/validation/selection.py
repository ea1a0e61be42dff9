"""The selection between the stages is held against what the stages before it wrote.

Nothing is executed, and nothing parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from answerkey.dataset import (
    DIFFICULTY,
    EXCLUDED,
    INTERIM,
    JOINED,
    SIDECARS,
    Record,
    read_classified,
)
from answerkey.records import hash_file, read_database_hashes, read_jsonl
from answerkey.sqlite.answers import read_order
from answerkey.validation.checks import Facts, Terms, UnknownFactsError, find_errors, shorten
from answerkey.validation.sidecars import (
    TEST_SUITES,
    check_conservation,
    check_sidecars,
    read_known,
)

SELECTION = INTERIM / "selection"
DATABASES = Path("data/databases")
# What the selection is held against.
RECORDS = (
    DATABASES / "manifest.json",
    TEST_SUITES,
    SELECTION,
    INTERIM / JOINED,
    INTERIM / DIFFICULTY,
)


def has_records() -> bool:
    return all(path.exists() for path in RECORDS)


def check_selection(terms: Terms) -> list[str]:
    questions = list(read_jsonl(SELECTION / "questions.jsonl"))
    errors = find_errors(
        questions, find_recorded(INTERIM), terms, corpora=read_known(SELECTION).corpora
    )
    errors += check_sidecars(questions, SELECTION, read_database_hashes(DATABASES))
    excluded, loaded = read_jsonl(SELECTION / EXCLUDED), read_jsonl(INTERIM / JOINED)
    return errors + check_conservation(questions, excluded, loaded)


def find_recorded(interim: Path) -> Callable[[Record], Facts]:
    """Look the facts of a question up in what the stages wrote; questions come in order."""
    recorded = read_classified(interim)

    def look_up(question: Record) -> Facts:
        for known in recorded:
            if known.question_id != question["question_id"]:
                continue
            if any(
                getattr(known, name) != question[name] for name in ("database_name", "gold_sql")
            ):
                raise UnknownFactsError("not the SQL or the database that was executed")
            if known.answer_type is None or known.difficulty is None:
                raise UnknownFactsError("no answer or no parse of it was recorded")
            return Facts(
                known.gold_answer,
                read_order(known.order_matters, known.accepted_rows),
                known.tables_involved,
                known.difficulty,
            )
        raise UnknownFactsError("never executed, or out of order")

    return look_up


def check_selected(questions: list[Any], product: Path) -> list[str]:
    """The questions and sidecars of a product that are not what was selected."""
    found = {question["question_id"]: question for question in questions}
    errors = list(_compare(read_jsonl(SELECTION / "questions.jsonl"), found))
    for name in SIDECARS:
        if hash_file(product / name) != hash_file(SELECTION / name):
            errors.append(f"{product / name}: expected the bytes of {SELECTION / name}")
    return errors


def _compare(selected: Iterable[Record], product: dict[str, Record]) -> Iterator[str]:
    for record in selected:
        question_id = record["question_id"]
        question = product.pop(question_id, None)
        if question is None:
            yield f"{question_id}: expected in the product, as {SELECTION} has it, found nowhere"
            continue
        for field, expected in record.items():
            if field in question and question[field] != expected:
                yield (
                    f"{question_id}: {field}: expected {shorten(expected)}, as {SELECTION} has it,"
                    f" found {shorten(question[field])}"
                )
    for question_id in product:
        yield f"{question_id}: expected only questions of {SELECTION} in the product"
