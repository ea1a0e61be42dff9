"""Checks of a dataset: each gives all errors that it finds, and says what was expected."""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from stages.answers import (
    ANSWER_TYPES,
    answer_rows,
    answers_match,
    classify_answer_type,
    shape_answer,
)
from stages.guard import GuardedDatabase, Limits
from stages.question import DIFFICULTIES, EVAL, FIELDS, SPLITS
from stages.records import encode_text
from stages.scratch import open_scratch
from stages.selection.cells import Cell, CorpusCell, read_share
from stages.selection.targets import Targets

Record = dict[str, Any]
Execute = Callable[[str, str, str], Any]  # question_id, database_name, gold_sql -> answer

_TEXT_FIELDS = ("question_id", "question_text", "database_name", "gold_sql")
_VOCABULARIES = {"answer_type": ANSWER_TYPES, "difficulty": DIFFICULTIES, "split": SPLITS}
_PREFIX = re.compile(r"[A-Za-z0-9_-]*")
_SHOWN_CHARACTERS = 200


def check_record(question: Record) -> list[str]:
    """What is wrong with the fields of one record."""
    if not isinstance(question, dict):
        return [f"expected an object with {len(FIELDS)} fields, found {_shorten(question)}"]
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
    try:
        answer_type = classify_answer_type(question["gold_answer"])
    except ValueError as error:
        errors.append(f"gold_answer: {error}")
    else:
        if answer_type != question["answer_type"]:
            errors.append(
                f"answer_type: expected {answer_type} for this answer, found"
                f" {question['answer_type']!r}"
            )
        rows = answer_rows(question["gold_answer"])
        if not all(_is_value(value) for row in rows for value in row):
            errors.append("gold_answer: expected rows of numbers, text and null, nothing deeper")
    if not errors:
        stem = f"{question['database_name']}_{question['split']}"
        start, _, number = question["question_id"].rpartition("_")
        is_good = start.endswith(stem) and len(number) >= 3 and number.isdecimal()
        # A corpus that asks another one's databases puts a prefix before them.
        if not is_good or not _PREFIX.fullmatch(start.removesuffix(stem)):
            errors.append(f"question_id: expected {stem}_ and three digits or more")
    return errors


class Tally:
    """What is kept of the good records of a dataset, which itself may be too large to hold: how
    many there are of each kind, and on the disk their ids."""

    def __init__(self) -> None:
        self.size = 0
        self.cells: Counter[Cell] = Counter()
        self.corpora: Counter[CorpusCell] = Counter()
        self.databases: Counter[tuple[str, str]] = Counter()  # by name and split
        self.answer_types: Counter[str] = Counter()
        self.repeated: Counter[str] = Counter()  # how often an id came again
        self._ids = open_scratch("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, question: Record, corpus: str = "") -> None:
        """Count a record, and its corpus where that matters."""
        self.size += 1
        self.cells[question["split"], question["difficulty"]] += 1
        self.corpora[question["split"], corpus] += 1
        self.databases[question["database_name"], question["split"]] += 1
        self.answer_types[question["answer_type"]] += 1
        question_id = encode_text(question["question_id"])
        is_new = self._ids.execute("INSERT OR IGNORE INTO seen VALUES (?)", (question_id,)).rowcount
        if not is_new:
            self.repeated[question["question_id"]] += 1


def check_ids(tally: Tally) -> list[str]:
    """Ids that occur more than once."""
    return [
        f"{question_id}: question_id: expected once, found {count + 1} times"
        for question_id, count in sorted(tally.repeated.items())
    ]


def check_splits(tally: Tally) -> list[str]:
    """Databases that stand in more than one split."""
    by_name = groupby(sorted(tally.databases), key=itemgetter(0))
    found = {name: [split for _, split in pairs] for name, pairs in by_name}
    return [
        f"{name}: split: expected one split a database, found {', '.join(splits)}"
        for name, splits in found.items()
        if len(splits) > 1
    ]


def check_answer(question: Record, execute: Execute, *, ordered: bool, rel_tol: float) -> list[str]:
    """Whether the answer is not what gold SQL gives."""
    question_id, stored = question["question_id"], question["gold_answer"]
    try:
        answer = execute(question_id, question["database_name"], question["gold_sql"])
    except (sqlite3.OperationalError, LookupError, FileNotFoundError) as error:
        return [f"{question_id}: gold_sql: {error}"]
    # One row of one column matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=ordered, rel_tol=rel_tol)
    )
    if is_same:
        return []
    return [
        f"{question_id}: gold_answer: expected what gold SQL returns, {_shorten(answer)},"
        f" found {_shorten(stored)}"
    ]


def check_targets(tally: Tally, targets: Targets) -> list[str]:
    """Shares and sizes that are off by more than the tolerance."""
    errors = []
    size = tally.size
    if targets.min_questions is not None and size < targets.min_questions:
        errors.append(f"size: expected at least {targets.min_questions}, found {size}")
    if targets.max_questions is not None and size > targets.max_questions:
        errors.append(f"size: expected at most {targets.max_questions}, found {size}")

    def check_share(name: str, part: int, whole: int, share: float) -> None:
        distance = abs(part - read_share(share) * whole)
        if distance > read_share(targets.tolerance) * whole:
            errors.append(
                f"{name}: expected a share of {share:g} within {targets.tolerance:g},"
                f" found {part / whole:.4f} ({part} of {whole})"
            )

    cells = tally.cells
    splits = {split: sum(cells[split, level] for level in DIFFICULTIES) for split in SPLITS}
    if targets.eval_share is not None:
        check_share("split eval", splits[EVAL], size, targets.eval_share)
    for level, share in (targets.difficulty_shares or {}).items():
        for split in SPLITS:
            check_share(f"difficulty {level} in {split}", cells[split, level], splits[split], share)
    for corpus in targets.corpora:
        for split in SPLITS:
            count, share = tally.corpora[split, corpus], targets.corpus_shares[corpus]
            check_share(f"corpus {corpus} in {split}", count, splits[split], share)
    most_of_database = targets.max_per_database
    by_name = groupby(sorted(tally.databases), key=itemgetter(0))
    for name, pairs in by_name if most_of_database is not None else ():
        count = sum(tally.databases[pair] for pair in pairs)
        if count > most_of_database:
            errors.append(f"{name}: expected at most {most_of_database}, found {count}")
    for name, count in sorted(tally.answer_types.items()):
        most = targets.max_answer_type_share
        if most is not None and count > read_share(most) * size:
            errors.append(
                f"answer_type {name}: expected at most {most:g}, found {count / size:.4f}"
            )
    return errors


@contextlib.contextmanager
def execute_on(db_paths: Mapping[str, Path], limits: Limits | None) -> Iterator[Execute]:
    """Execute gold SQL for real, on one open database at a time."""
    with contextlib.ExitStack() as stack:
        opened: dict[str, GuardedDatabase] = {}

        def execute(question_id: str, database_name: str, gold_sql: str) -> Any:
            if database_name not in opened:
                stack.close()
                opened.clear()
                if database_name not in db_paths:
                    raise LookupError(f"no database {database_name} among {len(db_paths)} paths")
                database = GuardedDatabase(db_paths[database_name], limits)
                opened[database_name] = stack.enter_context(database)
            return shape_answer(opened[database_name].execute(gold_sql))

        yield execute


def _is_value(value: Any) -> bool:
    is_finite = type(value) is float and math.isfinite(value)
    return value is None or is_finite or type(value) in (int, str)


def _shorten(answer: Any) -> str:
    text = repr(answer)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
