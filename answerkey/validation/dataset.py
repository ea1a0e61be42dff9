"""A dataset as a whole, wherever it is from: its records are held against gold SQL, executed."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from logging import Logger
from pathlib import Path
from typing import Any

from answerkey.dataset import INTERIM, SIDECARS, SUITES, Record
from answerkey.records import EASY, HARD, MEDIUM, SPLITS, hash_file, read_jsonl
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import Targets
from answerkey.sqlite.answers import REL_TOL, Order
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import Limits
from answerkey.validation.checks import Terms, ValidationError, find_errors
from answerkey.validation.facts import RULE_OF_TABLES, derive_facts
from answerkey.validation.selection import (
    DATABASES,
    check_selected,
    check_selection,
    has_records,
)
from answerkey.validation.sidecars import Known, check_sidecars, check_suite_answers, read_known

SHARES = Targets(difficulty_shares={EASY: 0.4, MEDIUM: 0.4, HARD: 0.2}, tolerance=0.02)


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, str | os.PathLike[str]],
    *,
    targets: Targets | None = SHARES,
    rule: DifficultyRule = RULE_OF_TABLES,
    order_matters: Mapping[str, Order] | None = None,
    source_difficulties: Mapping[str, str] | None = None,
    corpora: Mapping[str, str] | None = None,
    solved_shares: Mapping[str, float] | None = None,
    has_unique_texts: bool = True,
    rel_tol: float = REL_TOL,
    limits: Limits | None = None,
) -> list[str]:
    """Every error of a dataset, in words; none: it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']
    >>> validate_dataset([], {})
    ['dataset: expected questions, found none']

    Fields and their order, types, vocabularies, ids and splits are checked. Gold SQL is executed on
    `db_paths`: its answer must be gold_answer, as a sequence if its order is certain, and its
    tables tables_involved. The number of tables makes the difficulty (1 or 2: easy, 3: medium), 40%
    of the dataset are easy, 40% medium and 20% hard, within two points, and no database is asked
    one text twice.

    A dataset that was made by other params needs their `targets` (None: no shares) and `rule`. What
    these ask for comes by question_id: what the corpus says of its difficulty
    (`source_difficulties`), its corpus (`corpora`), and the share of its rollouts that are right
    (`solved_shares`). `order_matters` says whose answers are sequences, or the lengths of segments
    of which each may come in any order. `has_unique_texts=False` lets texts come again.

    Raises:
        sqlite3.Error: if a file is no database, or a corrupt one.
    """
    known = Known(order_matters, source_difficulties or {}, corpora or {}, solved_shares or {})
    with derive_facts(db_paths, known, rule=rule, limits=limits) as look_up:
        terms = Terms(targets, has_unique_texts, rel_tol)
        return find_errors(questions, look_up, terms, corpora=known.corpora)


# The product that lies in data/questions.


PRODUCT = Path("data/questions")

_NEXT_STEP = "run `dvc pull`, or `dvc repro` if nobody has pushed it"


class NothingToValidateError(Exception):
    """There is no product here yet, or none of its databases; the message says what to run."""


def report_product(log: Logger, terms: Terms, rule: DifficultyRule, limits: Limits) -> int:
    """Say what is wrong with the product that lies here, and return the exit status of the command:
    0 if nothing is, 1 if something is, 3 if there is nothing here yet."""
    try:
        errors = validate_product(terms, rule, limits)
    except NothingToValidateError as error:
        log.error("%s", error)
        return 3
    if not has_records():
        log.info("%s is not all here: the product is held against gold SQL alone", INTERIM)
    if errors:
        log.error("%s", ValidationError(errors))
        return 1
    log.info("no errors")
    return 0


def validate_product(terms: Terms, rule: DifficultyRule, limits: Limits) -> list[str]:
    """The errors of the product that lies here: against gold SQL, and against what the stages wrote
    if all of that is here. A record that fails against gold SQL is not named again for being other
    than what was selected.

    Raises:
        NothingToValidateError: before a pull.
    """
    if missing := check_files():
        return missing
    questions, errors = read_product()
    errors += check_product(questions, terms, rule, limits)
    if has_records():
        told = {error.partition(":")[0] for error in errors}
        found = check_selected(list(filter(_has_names, questions)), PRODUCT)
        errors += [error for error in found if error.partition(":")[0] not in told]
        errors += check_selection(terms)
    return list(dict.fromkeys(errors))


def check_files() -> list[str]:
    """The files of the product that are missing beside others.

    Raises:
        NothingToValidateError: if all are missing.
    """
    names = [*map(_name_questions, SPLITS), *SIDECARS]
    missing = [name for name in names if not (PRODUCT / name).is_file()]
    if len(missing) == len(names):
        raise NothingToValidateError(f"Nothing to validate: no {PRODUCT / names[0]}: {_NEXT_STEP}")
    return [
        f"{PRODUCT / name}: expected beside the other files of the product: {_NEXT_STEP}"
        for name in missing
    ]


def read_product() -> tuple[list[Any], list[str]]:
    """Return the records of both splits, and the errors of the files that hold them."""
    questions: list[Any] = []
    errors: list[str] = []
    for split in SPLITS:
        path = PRODUCT / _name_questions(split)
        try:
            records = json.loads(path.read_bytes())
        except ValueError as error:
            errors.append(f"{path}: not JSON: {error}")
            continue
        if not isinstance(records, list):
            errors.append(f"{path}: expected a JSON array, found {type(records).__name__}")
            continue
        questions += records
        errors += [
            f"{record.get('question_id')}: split: expected {split}, found {record.get('split')!r}"
            for record in records
            if isinstance(record, dict) and record.get("split") != split
        ]
    return questions, errors


def check_product(
    questions: list[Any], terms: Terms, rule: DifficultyRule, limits: Limits
) -> list[str]:
    """The errors of the product's records and sidecars, with every gold query executed on the
    databases beside them.

    Raises:
        NothingToValidateError: if none of the databases is there.
    """
    named = [question for question in questions if _has_names(question)]
    db_paths = {
        name: find_inside(DATABASES, f"{name}/{name}.sqlite")
        for name in sorted({question["database_name"] for question in named})
    }
    hashes = {name: hash_file(path) for name, path in db_paths.items() if path.is_file()}
    if db_paths and not hashes:
        raise NothingToValidateError(
            f"Nothing to validate with: {DATABASES} has none of the {len(db_paths)} databases that"
            f" {PRODUCT} asks: {_NEXT_STEP}"
        )
    errors = check_sidecars(named, PRODUCT, {**dict.fromkeys(db_paths), **hashes})
    errors += check_suite_answers(
        named, read_jsonl(PRODUCT / SUITES), limits=limits, rel_tol=terms.rel_tol
    )
    known = read_known(PRODUCT)
    try:
        return errors + validate_dataset(
            questions, db_paths, rule=rule, limits=limits, **terms._asdict(), **known._asdict()
        )
    except sqlite3.Error as error:
        return [*errors, f"{error}: expected a database; run `dvc checkout` or `dvc pull`"]


def _name_questions(split: str) -> str:
    return f"questions_{split}.json"


def _has_names(question: Any) -> bool:
    return isinstance(question, dict) and all(
        isinstance(question.get(name), str) for name in ("question_id", "database_name")
    )
