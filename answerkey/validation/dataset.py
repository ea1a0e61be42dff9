"""Validate any dataset as a whole, and the product in data/questions. Every gold query is executed
again, on the databases and on those of test suites.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import groupby
from logging import Logger
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sqlglot.errors import SqlglotError

from answerkey.base.paths import DATABASES, PRODUCT
from answerkey.base.records import EASY, HARD, MEDIUM, SPLITS, hash_file, read_jsonl
from answerkey.dataset import AUDIT, PASS_RATES, SIDECARS, SUITES, Record, read_questions
from answerkey.engines.answers import (
    Order,
    answers_match,
    classify_answer_type,
    read_order,
    shape_answer,
)
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.executions import Executions
from answerkey.engines.names import SUFFIXES
from answerkey.engines.opening import find_database_file, find_engine, open_database
from answerkey.engines.sqlite.files import find_inside
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import read_row_order
from answerkey.sections.classify_difficulty import RANK, DifficultyRule
from answerkey.sections.select_questions import SelectQuestions, Targets
from answerkey.sql.parsed_query import TABLE_NODES, classify_hardness, list_tables
from answerkey.sql.query_tree import parse_sql, speaking
from answerkey.validation.checks import (
    ValidationError,
    check_set,
    check_sidecars,
    find_well_formed,
    shorten,
)

SHARES = Targets(difficulty_shares={EASY: 0.4, MEDIUM: 0.4, HARD: 0.2}, tolerance=0.02)
RULE_OF_TABLES = DifficultyRule()  # 1 or 2 easy, 3 medium, 4 or more hard

_FILES = {split: PRODUCT / f"questions_{split}.json" for split in SPLITS}


class GoldFacts(NamedTuple):
    """The results of gold SQL for a question.

    answer: its answer; None: a single NULL.
    order_matters: whether the order of the answer's rows counts, as an `Order`.
    abs_tol: the absolute tolerance for floats of right answers.
    """

    answer: Any
    order_matters: Order
    tables_involved: list[str]
    hardness: str
    abs_tol: float = 0.0


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, str | os.PathLike[str]],
    *,
    targets: Targets | None = SHARES,
    rule: DifficultyRule = RULE_OF_TABLES,
    audit: Mapping[str, Record] | None = None,
    pass_rates: Mapping[str, Record] | None = None,
    crossing: Container[str] = (),
    limits: Limits | None = None,
) -> list[str]:
    """Return every error of a dataset, in words; an empty list if it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']
    >>> validate_dataset([], {})
    ['dataset: expected questions, found none']

    Fields and their order, types, vocabularies, ids and splits are checked. Gold SQL is executed on
    `db_paths`: its answer must be gold_answer, as a sequence if its order is certain, and its
    tables must be tables_involved. The number of tables decides the difficulty (1 or 2: easy, 3:
    medium), and 40% of the dataset are easy, 40% medium and 20% hard, within two points.

    A dataset that was made with other params needs their `targets` (None: no shares) and `rule`,
    and the records of its sidecars by question_id: `audit` (the order of answers, the clock, and
    the corpora with their difficulties) and `pass_rates` (the rollouts). `crossing` are the corpora
    whose databases may be in both splits.

    Raises:
        sqlite3.Error: a file is no database, or a corrupt one.
    """
    audit, pass_rates = audit or {}, pass_rates or {}

    def classify(question: Record, facts: GoldFacts) -> str:
        if rule.method == RANK:  # it depends on all questions, also those left out
            difficulty: str = question["difficulty"]
            return difficulty
        record, rate = (known.get(question["question_id"]) for known in (audit, pass_rates))
        word = record["source"].get("difficulty") if record else None
        share = rate["suite"] / rate["total"] if rate else None
        return rule.classify(len(facts.tables_involved), facts.hardness, word, share)

    good, errors = find_well_formed(questions)
    corpora = {question_id: record["source"]["corpus"] for question_id, record in audit.items()}
    errors += check_set(good, targets=targets, corpora=corpora, crossing=crossing)
    of_name = itemgetter("database_name")
    for name, of_database in groupby(sorted(good, key=of_name), of_name):
        asked, path = list(of_database), db_paths.get(name)
        if path is None or not Path(path).is_file():
            errors.append(
                f"{name}: expected a database at {path}: run `dvc pull`; asked by {len(asked)} of"
                " the questions"
            )
            continue
        now = _find_clock(audit, asked)
        with derive_facts(path, limits=limits, now=now) as look_up:
            for question in asked:
                question_id = question["question_id"]
                try:
                    facts = look_up(question["gold_sql"])
                    difficulty = classify(question, facts)
                except ValueError as error:
                    errors.append(f"{question_id}: gold_sql: {error}")
                    continue
                if (record := audit.get(question_id)) is not None:
                    order = read_order(record["order_matters"], record["accepted_rows"])
                    facts = facts._replace(order_matters=order, abs_tol=_read_abs_tol(record))
                mistakes = _check_facts(question, facts, difficulty)
                errors += [f"{question_id}: {error}" for error in mistakes]
    return errors


def _find_clock(audit: Mapping[str, Record], questions: Iterable[Record]) -> str | None:
    """Return the time of the clock for queries of one database, which is the same for all."""
    records = (audit.get(question["question_id"], {}) for question in questions)
    return next((record["now"] for record in records if record.get("now")), None)


def _read_abs_tol(record: Record) -> float:
    """Return the absolute tolerance of a question; the sidecar leaves it out if it is 0."""
    abs_tol: float = record.get("abs_tol", 0.0)
    return abs_tol


def _check_facts(question: Record, facts: GoldFacts, difficulty: str) -> Iterator[str]:
    stored, answer = question["gold_answer"], facts.answer
    # One value matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=facts.order_matters, abs_tol=facts.abs_tol)
    )
    if not is_same:
        yield (
            f"gold_answer: expected what gold SQL returns, {shorten(answer)}, found"
            f" {shorten(stored)}"
        )
    if question["tables_involved"] != facts.tables_involved:
        yield (
            f"tables_involved: expected what gold SQL reads, {facts.tables_involved}, found"
            f" {question['tables_involved']}"
        )
    if question["difficulty"] != difficulty:
        yield (
            f"difficulty: expected {difficulty}, by the rule of difficulty, found"
            f" {question['difficulty']}"
        )


@contextlib.contextmanager
def derive_facts(
    path: str | os.PathLike[str], *, limits: Limits | None = None, now: str | None = None
) -> Iterator[Callable[[str], GoldFacts]]:
    """Yield a function that executes and parses gold SQL on a database, and returns its facts.

    Raises:
        ValueError: by the function, if gold SQL does not run, or does not parse.
        sqlite3.Error: the file is no database, or a corrupt one.
    """
    engine = find_engine(Path(path))
    schema = engine.read_schema(Path(path))
    with speaking(engine.name), open_database(Path(path), limits, now=now) as database:

        def look_up(gold_sql: str) -> GoldFacts:
            try:
                rows = database.execute(gold_sql)
                tree = parse_sql(gold_sql)
                order = read_row_order(
                    Inspection(gold_sql, tree, schema, rows, Executions(database))
                )
                tables = list_tables(tree.find_all(*TABLE_NODES), schema)
                return GoldFacts(shape_answer(rows), order, tables, classify_hardness(tree))
            except (QueryError, SqlglotError, RecursionError, ValueError) as error:
                raise ValueError(str(error).partition("\n")[0]) from error

        yield look_up


# The product of this project.


def report_product(
    log: Logger,
    settings: SelectQuestions,
    rule: DifficultyRule,
    limits: Limits,
    *,
    crossing: Container[str],
) -> int:
    """Log the errors of the product in this project, and return the exit status of the command: 0
    if it has none, 1 if it has some, 3 if there is no product yet."""
    paths = [*_FILES.values(), *(PRODUCT / name for name in SIDECARS)]
    missing = [path for path in paths if not path.is_file()]
    if len(missing) == len(paths) or not any(
        any(DATABASES.glob(f"*/*{suffix}")) for suffix in SUFFIXES.values()
    ):
        log.error(
            "Nothing to validate: no %s, or no %s: run `dvc pull`, or `dvc repro` if nobody has"
            " pushed it",
            PRODUCT,
            DATABASES,
        )
        return 3
    errors = [f"{path}: expected beside the other files of the product" for path in missing]
    errors = errors or list(dict.fromkeys(_validate(settings, rule, limits, crossing)))
    if errors:
        log.error("%s", ValidationError(errors))
        return 1
    log.info("no errors")
    return 0


def _validate(
    settings: SelectQuestions, rule: DifficultyRule, limits: Limits, crossing: Container[str]
) -> list[str]:
    read = [
        (split, question) for split, path in _FILES.items() for question in read_questions(path)
    ]
    questions, errors = find_well_formed(question for _, question in read)
    if errors:
        return errors
    errors = [
        f"{question['question_id']}: split: expected {split}, found {question['split']}"
        for split, question in read
        if question["split"] != split
    ]
    audit, pass_rates = (
        {record["question_id"]: record for record in read_jsonl(PRODUCT / name)}
        for name in (AUDIT, PASS_RATES)
    )
    names = sorted({question["database_name"] for question in questions})
    db_paths = {name: Path(find_database_file(DATABASES, name)) for name in names}
    hashes = {name: hash_file(path) for name, path in db_paths.items() if path.is_file()}
    try:
        errors += validate_dataset(
            questions,
            db_paths,
            targets=settings.targets,
            rule=rule,
            audit=audit,
            pass_rates=pass_rates,
            crossing=crossing,
            limits=limits,
        )
        errors += check_answers(questions, audit, db_paths, limits)
    except sqlite3.Error as error:
        errors.append(f"{error}: expected a database; run `dvc checkout` or `dvc pull`")
    return errors + check_sidecars(questions, PRODUCT, hashes)


def check_answers(
    questions: Iterable[Record],
    audit: Mapping[str, Record],
    db_paths: Mapping[str, Path],
    limits: Limits,
) -> Iterator[str]:
    """Yield the answers in sidecars that differ from what their queries return: those of other
    right queries, and all answers on the databases of suites. Missing databases are skipped."""
    known = {question["question_id"]: question for question in questions}
    claims: defaultdict[Path, list[tuple[str, str, Any, Order]]] = defaultdict(list)

    def add_others(path: Path, question_id: str, record: Record) -> None:
        for other in record.get("other_answers", ()):
            claims[path].append((question_id, other["sql"], other["answer"], False))

    for question_id, question in known.items():
        path = db_paths[question["database_name"]]
        add_others(path, question_id, audit.get(question_id, {}))
    for suite in read_jsonl(PRODUCT / SUITES):
        question_id = suite["question_id"]
        if question_id not in known:
            continue
        for database in suite["databases"]:
            path = find_inside(".", database["path"])
            order = read_order(database["order_matters"], database["accepted_rows"])
            gold_sql, answer = known[question_id]["gold_sql"], database["gold_answer"]
            claims[path].append((question_id, gold_sql, answer, order))
            add_others(path, question_id, database)
    for path, of_path in sorted(claims.items()):
        if not path.is_file():
            continue
        now = _find_clock(audit, (known[question_id] for question_id, *_ in of_path))
        with open_database(path, limits, now=now) as database:
            for question_id, sql, claimed, order in of_path:
                try:
                    answer = shape_answer(database.execute(sql))
                except QueryError as error:
                    yield f"{question_id}: {path}: {error}"
                    continue
                abs_tol = _read_abs_tol(audit.get(question_id, {}))
                if not answers_match(claimed, answer, ordered=order, abs_tol=abs_tol):
                    yield (
                        f"{question_id}: {path}: expected {shorten(answer)}, as {shorten(sql)}"
                        f" returns, found {shorten(claimed)}"
                    )
