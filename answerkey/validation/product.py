"""The product that lies in data/questions: every gold query is executed again, on the databases and
on those of test suites."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from logging import Logger
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.records import SPLITS, hash_file, read_jsonl
from answerkey.dataset import AUDIT, PASS_RATES, SIDECARS, SUITES, Record, read_questions
from answerkey.sections.classify_difficulty import DifficultyRule
from answerkey.sections.select_questions import SelectQuestions
from answerkey.selection.policies import read_policies
from answerkey.sqlite.answers import Order, answers_match, read_order, shape_answer
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.validation.checks import (
    ValidationError,
    find_well_formed,
    forbids_repeats,
    shorten,
)
from answerkey.validation.dataset import validate_dataset
from answerkey.validation.selection import DATABASES, check_sidecars

PRODUCT = Path("data/questions")
_FILES = {split: PRODUCT / f"questions_{split}.json" for split in SPLITS}
_NEXT_STEP = "run `dvc pull`, or `dvc repro` if nobody has pushed it"


def report_product(
    log: Logger, settings: SelectQuestions, rule: DifficultyRule, limits: Limits
) -> int:
    """Say what is wrong with the product that lies here, and return the exit status of the command:
    0 if nothing is, 1 if something is, 3 if there is nothing here yet."""
    paths = [*_FILES.values(), *(PRODUCT / name for name in SIDECARS)]
    missing = [path for path in paths if not path.is_file()]
    if len(missing) == len(paths) or not any(DATABASES.glob("*/*.sqlite")):
        log.error("Nothing to validate: no %s, or no %s: %s", PRODUCT, DATABASES, _NEXT_STEP)
        return 3
    errors = [f"{path}: expected beside the other files of the product" for path in missing]
    errors = errors or list(dict.fromkeys(_validate(settings, rule, limits)))
    if errors:
        log.error("%s", ValidationError(errors))
        return 1
    log.info("no errors")
    return 0


def _validate(settings: SelectQuestions, rule: DifficultyRule, limits: Limits) -> list[str]:
    files = {split: list(read_questions(path)) for split, path in _FILES.items()}
    questions = [question for of_split in files.values() for question in of_split]
    named, _ = find_well_formed(questions)
    errors = [
        f"{question['question_id']}: split: expected {split}, found {question['split']}"
        for split, of_split in files.items()
        for question in find_well_formed(of_split)[0]
        if question["split"] != split
    ]
    audit = list(read_jsonl(PRODUCT / AUDIT))
    db_paths = {
        name: find_inside(DATABASES, f"{name}/{name}.sqlite")
        for name in sorted({question["database_name"] for question in named})
    }
    present = {name: path for name, path in db_paths.items() if path.is_file()}
    of_present = [question for question in named if question["database_name"] in present]
    hashes = {name: hash_file(path) for name, path in present.items()}
    try:
        errors += validate_dataset(
            questions,
            db_paths,
            targets=settings.targets,
            rule=rule,
            order_matters={
                one["question_id"]: read_order(one["order_matters"], one["accepted_rows"])
                for one in audit
            },
            source_difficulties={
                one["question_id"]: one["source"].get("difficulty") for one in audit
            },
            corpora={one["question_id"]: one["source"]["corpus"] for one in audit},
            solved_shares={
                rate["question_id"]: rate["suite"] / rate["total"]
                for rate in read_jsonl(PRODUCT / PASS_RATES)
            },
            has_unique_texts=forbids_repeats(read_policies(settings.policies)),
            limits=limits,
        )
        errors += check_claims(list_claims(of_present, audit, db_paths), limits)
    except sqlite3.Error as error:
        errors.append(f"{error}: expected a database; run `dvc checkout` or `dvc pull`")
    known = [one for one in questions if {"question_id", "database_name"} <= one.keys()]
    return errors + check_sidecars(known, PRODUCT, hashes)


# Answers beside gold's own: those of other right queries, and all of them on test suites.


class Claim(NamedTuple):
    """What a query is said to return on a database."""

    path: Path
    question_id: str
    sql: str
    answer: Any
    order: Order = False


def list_claims(
    questions: list[Record], audit: list[Record], db_paths: dict[str, Path]
) -> Iterator[Claim]:
    """What the sidecars say of answers; databases of suites that are missing are passed over."""
    known = {question["question_id"]: question for question in questions}
    for record in audit:
        if (question := known.get(record["question_id"])) is not None:
            path = db_paths[question["database_name"]]
            for other in record.get("other_answers", ()):
                yield Claim(path, question["question_id"], other["sql"], other["answer"])
    for suite in read_jsonl(PRODUCT / SUITES):
        question = known.get(suite["question_id"])
        for database in suite["databases"] if question else ():
            path = find_inside(".", database["path"])
            if path.is_file():
                order = read_order(database["order_matters"], database["accepted_rows"])
                names = path, question["question_id"]
                yield Claim(*names, question["gold_sql"], database["gold_answer"], order)
                for other in database.get("other_answers", ()):
                    yield Claim(*names, other["sql"], other["answer"])


def check_claims(claims: Iterator[Claim], limits: Limits) -> list[str]:
    """The claims that are not true, in words."""
    errors = []
    for path, of_database in groupby(
        sorted(claims, key=attrgetter("path")), key=attrgetter("path")
    ):
        with GuardedDatabase(path, limits) as database:
            for claim in of_database:
                try:
                    answer = shape_answer(database.execute(claim.sql))
                except QueryError as error:
                    errors.append(f"{claim.question_id}: {path}: {error}")
                    continue
                if not answers_match(claim.answer, answer, ordered=claim.order):
                    errors.append(
                        f"{claim.question_id}: {path}: expected {shorten(answer)}, as"
                        f" {shorten(claim.sql)} returns, found {shorten(claim.answer)}"
                    )
    return errors
