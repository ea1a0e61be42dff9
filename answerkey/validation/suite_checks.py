"""Checks of the test suites beside the product: each is of one question, adds up, and names files
that are as they were made; gold SQL gives on them what the suite says.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from answerkey.core.database_ids import find_inside
from answerkey.core.question import SUITES
from answerkey.core.records import hash_file
from answerkey.sqlite.answers import answers_match, read_order, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.validation.facts import Record, are_segments, shorten

TEST_SUITES = Path("data/test_suites")

_FIELDS = ("question_id", "mutation_score", "operators", "alive", "databases")
_FATES = ("killed", "alive", "undecided")
_ROUNDING = 1e-4


def hash_suites() -> dict[str, str]:
    """sha256 of each database of a suite that lies here, by its path."""
    return {path.as_posix(): hash_file(path) for path in TEST_SUITES.glob("*/*.sqlite")}


def check_suites(
    questions: Iterable[Record], suites: Iterable[Record], hashes: Mapping[str, str]
) -> list[str]:
    """Where the suites are not those of the questions, contradict themselves, or name a database
    that is not the one of that path in `hashes`."""
    names = {question["question_id"]: question["database_name"] for question in questions}
    errors = []
    found: Counter[str] = Counter()
    for suite in suites:
        question_id = suite["question_id"]
        found[question_id] += 1
        name = names.get(question_id)
        if name is None:
            errors.append(f"{question_id}: {SUITES}: expected only questions of the product")
            continue
        errors += [f"{question_id}: {SUITES}: {error}" for error in _check(suite, name, hashes)]
    errors += [
        f"{question_id}: {SUITES}: expected one record, found {found[question_id]}"
        for question_id in sorted(names)
        if found[question_id] != 1
    ]
    return errors


def _check(suite: Record, name: str, hashes: Mapping[str, str]) -> Iterator[str]:
    if tuple(suite) != _FIELDS:
        yield f"expected the fields {', '.join(_FIELDS)}, found {', '.join(suite)}"
        return
    yield from _check_score(suite["mutation_score"], suite["operators"])
    for database in suite["databases"]:
        path = database["path"]
        if not re.fullmatch(re.escape(f"{TEST_SUITES}/{name}/{name}.") + r"\d\d+\.sqlite", path):
            yield f"path: expected {TEST_SUITES}/{name}/{name}.NN.sqlite, found {path!r}"
        elif path not in hashes:
            yield f"{path}: expected this database, found none: run `dvc pull`"
        elif hashes[path] != database["sha256"]:
            yield f"{path}: expected sha256 {database['sha256']}, found {hashes[path]}"
        if type(database["order_matters"]) is not bool:
            yield f"order_matters: expected true or false, found {database['order_matters']!r}"
        segments = database.get("accepted_rows")
        if segments is not None and not are_segments(segments, database["gold_answer"]):
            yield f"accepted_rows: expected segments of gold_answer, found {shorten(segments)}"


def _check_score(score: Any, operators: Any) -> Iterator[str]:
    """A score is what the counts of the operators say, or null where no neighbor counts."""
    for operator, fates in operators.items():
        if tuple(fates) != _FATES or not all(type(n) is int and n >= 0 for n in fates.values()):
            yield f"operators: {operator}: expected counts of {', '.join(_FATES)}, found {fates}"
            return
    killed, alive, _ = (sum(fates[fate] for fates in operators.values()) for fate in _FATES)
    if killed + alive == 0:
        if score is not None:
            yield f"mutation_score: expected null, since no neighbor counts, found {score}"
        return
    expected = killed / (killed + alive)
    if score is None or abs(score["suite"] - expected) > _ROUNDING:
        yield f"mutation_score: expected a suite of {expected:.4f}, by operators, found {score}"
    elif not 0 <= score["database"] <= score["suite"]:
        yield f"mutation_score: expected a database from 0 to that of the suite, found {score}"


def check_suite_answers(
    questions: Iterable[Record], suites: Iterable[Record], *, limits: Limits, rel_tol: float
) -> list[str]:
    """Where gold SQL, executed on the databases of its suite, gives another answer than the suite
    says. Databases that are missing are passed over."""
    asked = {question["question_id"]: question["gold_sql"] for question in questions}
    errors = []
    with ExitStack() as stack:
        folder, opened = None, dict[Path, GuardedDatabase]()
        for suite in suites:
            for database in suite["databases"]:
                path = find_inside(".", database["path"])
                if suite["question_id"] not in asked or not path.is_file():
                    continue
                if path.parent != folder:  # the suites come by database
                    stack.close()
                    folder, opened = path.parent, {}
                if path not in opened:
                    opened[path] = stack.enter_context(GuardedDatabase(path, limits))
                error = _compare(opened[path], asked[suite["question_id"]], database, rel_tol)
                if error is not None:
                    errors.append(f"{suite['question_id']}: {SUITES}: {path}: {error}")
    return errors


def _compare(
    opened: GuardedDatabase, gold_sql: str, database: Record, rel_tol: float
) -> str | None:
    try:
        answer = shape_answer(opened.execute(gold_sql))
    except (QueryError, sqlite3.Error) as error:
        return f"gold_answer: gold SQL fails here: {error}"
    stored, segments = database["gold_answer"], database.get("accepted_rows")
    if segments is not None and not are_segments(segments, stored):
        return None  # which check_suites says
    ordered = read_order(database["order_matters"], segments)
    if answers_match(stored, answer, ordered=ordered, rel_tol=rel_tol):
        return None
    return f"gold_answer: expected {shorten(answer)}, by gold SQL, found {shorten(stored)}"
