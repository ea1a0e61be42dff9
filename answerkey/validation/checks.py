"""Checks of a dataset: each gives all errors that it finds, and says what was expected."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from answerkey.comparison.compare import normalize_question
from answerkey.dataset import FIELDS, Record
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, read_share
from answerkey.sections.select_questions import DATASET, Policy, Targets
from answerkey.sqlite.answers import (
    ANSWER_TYPES,
    REL_TOL,
    Order,
    answer_rows,
    answers_match,
    classify_answer_type,
    list_takes,
)

_TEXT_FIELDS = ("question_id", "question_text", "database_name", "gold_sql")
_VOCABULARIES = {"answer_type": ANSWER_TYPES, "difficulty": DIFFICULTIES, "split": SPLITS}
_PREFIX = re.compile(r"[A-Za-z0-9_-]*")
_SHOWN_CHARACTERS = 200


class Terms(NamedTuple):
    """What a dataset must meet beside its facts.

    targets: shares and sizes; None: none.
    has_unique_texts: no database is asked one text twice.
    rel_tol: relative tolerance between floats.
    """

    targets: Targets | None
    has_unique_texts: bool
    rel_tol: float = REL_TOL


def make_terms(policies: Mapping[str, Policy], targets: Targets) -> Terms:
    repeats = (policies[flag] for flag in ("duplicate_question", "conflicting_gold"))
    return Terms(targets, all(policy is Policy.EXCLUDE for policy in repeats))


class ValidationError(Exception):
    """A dataset that failed; the message counts the errors and lists every one."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join([f"Validation failed with {len(errors)} errors", *errors]))
        self.errors = errors


def check_record(question: Record) -> list[str]:
    if not isinstance(question, dict):
        return [f"expected an object with {len(FIELDS)} fields, found {shorten(question)}"]
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


# Facts: what gold SQL makes of a question, wherever that is known from.


class Facts(NamedTuple):
    """What a record is held against.

    answer: what its gold SQL returns; None: a single NULL.
    order_matters: how far the order of the rows of the answer belongs to it.
    tables_involved, difficulty: what follows from gold SQL and the schema.
    """

    answer: Any
    order_matters: Order
    tables_involved: list[str]
    difficulty: str


class UnknownFactsError(Exception):
    """There is nothing to hold a record against; the message says why."""


class MissingDatabaseError(UnknownFactsError):
    """There is no database of that name, which is one error however many questions ask it."""


def check_facts(question: Record, facts: Facts, *, rel_tol: float) -> list[str]:
    """The fields of a record that are not what its gold SQL makes them."""
    stored, answer = question["gold_answer"], facts.answer
    # One row of one column matches the same value in a list, so shapes are compared as well.
    is_same = (
        answer is not None
        and classify_answer_type(answer) == question["answer_type"]
        and answers_match(stored, answer, ordered=facts.order_matters, rel_tol=rel_tol)
    )
    errors = []
    if not is_same:
        errors.append(
            f"gold_answer: expected what gold SQL returns, {shorten(answer)},"
            f" found {shorten(stored)}"
        )
    if question["tables_involved"] != facts.tables_involved:
        errors.append(
            f"tables_involved: expected what gold SQL reads, {facts.tables_involved}, found"
            f" {question['tables_involved']}"
        )
    if question["difficulty"] != facts.difficulty:
        errors.append(
            f"difficulty: expected {facts.difficulty}, by the rule of difficulty, found"
            f" {question['difficulty']}"
        )
    return errors


def shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def are_segments(value: Any, gold_answer: Any) -> bool:
    """Whether a value is a list of segments of a gold answer, which `rows_match` explains: numbers
    of rows, and {rows, take} with as many rows as it takes, or more."""
    return (
        isinstance(value, list)
        and all(map(_is_segment, value))
        and sum(list_takes(value)) == len(answer_rows(gold_answer))
    )


def _is_segment(value: Any) -> bool:
    if not isinstance(value, dict):
        return type(value) is int and value >= 1
    return (
        value.keys() == {"rows", "take"}
        and isinstance(value["rows"], list)
        and all(isinstance(row, list) for row in value["rows"])
        and type(value["take"]) is int
        and 1 <= value["take"] <= len(value["rows"])
    )


# The set as a whole.


def find_errors(
    questions: Iterable[Record],
    look_up: Callable[[Record], Facts],
    terms: Terms,
    *,
    corpora: Mapping[str, str],
) -> list[str]:
    """Every error of a dataset: of its records, of the set as a whole, and of well-formed records
    that are not what `look_up` says of them. `corpora` are those of the questions by id.

    Raises:
        sqlite3.Error: as `look_up`.
    """
    errors: list[str] = []
    of_facts: list[str] = []
    missing: Counter[str] = Counter()
    good: list[Record] = []
    for number, question in enumerate(questions):
        if found := check_record(question):
            has_name = isinstance(question, dict) and "question_id" in question
            name = question["question_id"] if has_name else f"record {number}"
            errors += [f"{name}: {error}" for error in found]
            continue
        good.append(question)
        question_id = question["question_id"]
        try:
            facts = look_up(question)
        except MissingDatabaseError as error:
            missing[str(error)] += 1
        except UnknownFactsError as error:
            of_facts.append(f"{question_id}: gold_sql: {error}")
        else:
            found = check_facts(question, facts, rel_tol=terms.rel_tol)
            of_facts += [f"{question_id}: {error}" for error in found]
    if not good and not errors:
        errors.append("dataset: expected questions, found none")
    errors += [*check_ids(good), *check_splits(good)]
    errors += check_texts(good) if terms.has_unique_texts else []
    errors += [
        f"{error}; asked by {count} of the questions" for error, count in sorted(missing.items())
    ]
    errors += of_facts
    return errors + ([] if terms.targets is None else check_targets(good, terms.targets, corpora))


def check_ids(questions: Iterable[Record]) -> list[str]:
    counts = Counter(question["question_id"] for question in questions)
    return [
        f"{question_id}: question_id: expected once, found {count} times"
        for question_id, count in sorted(counts.items())
        if count > 1
    ]


def check_splits(questions: Iterable[Record]) -> list[str]:
    splits: defaultdict[str, set[str]] = defaultdict(set)
    for question in questions:
        splits[question["database_name"]].add(question["split"])
    return [
        f"{name}: split: expected one split a database, found {', '.join(sorted(found))}"
        for name, found in sorted(splits.items())
        if len(found) > 1
    ]


def check_texts(questions: Iterable[Record]) -> list[str]:
    """Questions whose text another one of the same database has."""
    errors = []
    first_ids: dict[tuple[str, str], str] = {}
    for question in questions:
        key = question["database_name"], normalize_question(question["question_text"])
        first = first_ids.setdefault(key, question["question_id"])
        if first != question["question_id"]:
            errors.append(
                f"{question['question_id']}: question_text: expected once on a database, found as"
                f" that of {first} too"
            )
    return errors


def check_targets(
    questions: Sequence[Record], targets: Targets, corpora: Mapping[str, str]
) -> list[str]:
    """Shares and sizes that are off by more than the tolerance; `corpora` by question_id."""
    errors = []
    size = len(questions)
    if targets.min_questions is not None and size < targets.min_questions:
        errors.append(f"size: expected at least {targets.min_questions}, found {size}")
    if targets.max_questions is not None and size > targets.max_questions:
        errors.append(f"size: expected at most {targets.max_questions}, found {size}")

    def count(**known: str) -> int:
        return sum(
            all(question[name] == value for name, value in known.items()) for question in questions
        )

    def check_share(name: str, part: int, whole: int, share: float) -> None:
        distance = abs(part - read_share(share) * whole)
        if distance > read_share(targets.tolerance) * whole:
            errors.append(
                f"{name}: expected a share of {share:g} within {targets.tolerance:g},"
                f" found {part / whole:.4f} ({part} of {whole})"
            )

    splits = {split: count(split=split) for split in SPLITS}
    if targets.eval_share is not None:
        check_share("split eval", splits[EVAL], size, targets.eval_share)
    for level, share in (targets.difficulty_shares or {}).items():
        if targets.difficulty_shares_of == DATASET:
            check_share(f"difficulty {level}", count(difficulty=level), size, share)
            continue
        for split, whole in splits.items():
            part = count(split=split, difficulty=level)
            check_share(f"difficulty {level} in {split}", part, whole, share)
    by_corpus = Counter(
        (question["split"], corpora.get(question["question_id"])) for question in questions
    )
    for corpus in targets.corpora:
        for split, whole in splits.items():
            part, share = by_corpus[split, corpus], targets.corpus_shares[corpus]
            check_share(f"corpus {corpus} in {split}", part, whole, share)
    if targets.max_per_database is not None:
        databases = Counter(question["database_name"] for question in questions)
        errors += [
            f"{name}: expected at most {targets.max_per_database}, found {found}"
            for name, found in sorted(databases.items())
            if found > targets.max_per_database
        ]
    if (most := targets.max_answer_type_share) is not None:
        kinds = Counter(question["answer_type"] for question in questions)
        errors += [
            f"answer_type {name}: expected at most {most:g}, found {found / size:.4f}"
            for name, found in sorted(kinds.items())
            if found > read_share(most) * size
        ]
    return errors


def _is_value(value: Any) -> bool:
    is_finite = type(value) is float and math.isfinite(value)
    return value is None or is_finite or type(value) in (int, str)
