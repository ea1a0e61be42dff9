"""Checks of the sidecars beside the questions: each record is of one question, and adds up."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.dataset import AUDIT, EXCLUDED, PASS_RATES, SUITES, Record
from answerkey.records import hash_file, read_jsonl
from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import read_rule
from answerkey.sqlite.answers import Order, answer_rows, answers_match, read_order, shape_answer
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.validation.checks import are_segments, shorten

TEST_SUITES = Path("data/test_suites")

_LEAST_STEPS = 1_000_000
_OF_VERDICTS = {"judged_right": 0.0, "judged_wrong": 1.0}
_COUNTS = ("total", "database", "suite")
_RATE_FIELDS = ("question_id", *_COUNTS, "models")
_SUITE_FIELDS = ("question_id", "mutation_score", "operators", "alive", "databases")
_FATES = ("killed", "alive", "undecided")
_ROUNDING = 1e-4


class Known(NamedTuple):
    """Facts that gold SQL does not tell, by question_id.

    order_matters: how far the order of rows belongs to an answer; None: gold SQL tells.
    source_difficulties: what the corpus says of it.
    corpora: its corpus.
    solved_shares: the share of its rollouts that are right.
    """

    order_matters: Mapping[str, Order] | None = None
    source_difficulties: Mapping[str, str] = {}
    corpora: Mapping[str, str] = {}
    solved_shares: Mapping[str, float] = {}


NOTHING_KNOWN = Known()


def read_known(folder: Path) -> Known:
    known = Known({}, {}, {}, {})
    for record in read_jsonl(folder / AUDIT):
        question_id, source = record["question_id"], record["source"]
        if record["order_matters"]:
            known.order_matters[question_id] = read_order(True, record["accepted_rows"])
        if source.get("difficulty") is not None:
            known.source_difficulties[question_id] = source["difficulty"]
        known.corpora[question_id] = sys.intern(source["corpus"])
    for rate in read_jsonl(folder / PASS_RATES):
        if rate["total"]:
            known.solved_shares[rate["question_id"]] = rate["suite"] / rate["total"]
    return known


def check_sidecars(
    questions: Iterable[Record], folder: Path, hashes: Mapping[str, str | None]
) -> list[str]:
    """The errors of all sidecars in a folder.

    hashes: sha256 of each database by its name; None: unknown, and passed over.
    """
    known = {question["question_id"]: question for question in questions}
    check_of_suite = partial(check_suite, hashes=hash_suites())
    errors = check_records(AUDIT, read_jsonl(folder / AUDIT), known, check_audit)
    errors += check_hashes(read_jsonl(folder / AUDIT), known, hashes)
    errors += check_records(SUITES, read_jsonl(folder / SUITES), known, check_of_suite)
    rates = read_jsonl(folder / PASS_RATES)
    errors += check_records(PASS_RATES, rates, known, check_pass_rate, least=0)
    for record in read_jsonl(folder / EXCLUDED):
        where = f"{record['question_id']}: {EXCLUDED}"
        errors += [f"{where}: {error}" for error in check_gold_risk(record)]
        if record["question_id"] in known:
            errors.append(f"{where}: also in the product")
    return errors


def check_records(
    name: str,
    records: Iterable[Record],
    questions: Mapping[str, Record],
    check: Callable[[Record, Record], Iterable[str]],
    *,
    least: int = 1,
) -> list[str]:
    """The errors of a sidecar: records of no question, more or fewer than one of a question (none
    is enough if `least` is 0), and those that `check` finds in a record and its question."""
    errors = []
    found: Counter[str] = Counter()
    for record in records:
        question_id = record["question_id"]
        found[question_id] += 1
        question = questions.get(question_id)
        words = ["expected only questions of the product"]
        if question is not None:
            words = check(record, question)
        errors += [f"{question_id}: {name}: {error}" for error in words]
    return errors + [
        f"{question_id}: {name}: expected one record, found {found[question_id]}"
        for question_id in sorted(questions)
        if not least <= found[question_id] <= 1
    ]


def check_hashes(
    audit: Iterable[Record], questions: Mapping[str, Record], hashes: Mapping[str, str | None]
) -> list[str]:
    """Databases that are not the ones that gold SQL was executed on, by audit.jsonl."""
    others: Counter[tuple[str, str, str]] = Counter()
    for record in audit:
        if (question := questions.get(record["question_id"])) is not None:
            name, expected = question["database_name"], record.get("database_sha256")
            found = hashes.get(name, "none")
            if found not in (None, expected):
                others[name, expected, found] += 1
    return [
        f"{name}: database_sha256: expected {expected}, as audit.jsonl has it for {count} of"
        f" the questions, found {found}"
        for (name, expected, found), count in sorted(others.items())
    ]


def check_conservation(
    questions: Iterable[Record], excluded: Iterable[Record], loaded: Iterable[Record]
) -> list[str]:
    """Source questions that are neither in the dataset nor excluded, and the other way round."""
    expected = Counter(record["question_id"] for record in loaded)
    found = Counter(record["question_id"] for record in questions)
    found.update(record["question_id"] for record in excluded)
    return [
        f"{question_id}: expected {expected[question_id]} times among selected and excluded"
        f" questions, as it was loaded, found {found[question_id]} times"
        for question_id in sorted(expected | found)
        if expected[question_id] != found[question_id]
    ]


# What audit.jsonl tells the reward (how many steps, by which rule, and which rows), and the gold
# risk.


def check_audit(record: Record, question: Record) -> Iterator[str]:
    """The errors of a record of audit.jsonl, which must accept gold itself."""
    max_steps, rule = record.get("max_steps"), record.get("rule")
    if type(max_steps) is not int or max_steps < _LEAST_STEPS:
        yield f"max_steps: expected a whole number from {_LEAST_STEPS}, found {max_steps!r}"
    if not isinstance(rule, str):
        yield f"rule: expected text, found {rule!r}"
    else:
        try:
            read_rule(rule)
        except ValueError as error:
            yield f"rule: {error}"
    segments = record.get("accepted_rows")
    if segments is not None and not _accepts(record, question.get("gold_answer")):
        yield f"accepted_rows: expected segments that accept gold_answer, found {shorten(segments)}"
    yield from check_gold_risk(record)


def _accepts(record: Record, gold_answer: Any) -> bool:
    segments = record["accepted_rows"]
    return are_segments(segments, gold_answer) and rows_match(
        answer_rows(gold_answer),
        gold_answer,
        rule=read_rule("strict"),
        order_matters=record["order_matters"],
        accepted_rows=segments,
    )


def check_gold_risk(record: Record) -> Iterator[str]:
    """The errors of the gold risk: a number from 0 to 1, that of its flag or verdict. A record
    without flags may have none: if it has no answer, nothing is known of its gold."""
    if "gold_risk" not in record:
        yield "gold_risk: expected a number from 0 to 1, or null, found no such field"
        return
    risk = record["gold_risk"]
    if risk is None and not record["flags"]:
        return
    if type(risk) not in (int, float) or not 0 <= risk <= 1:
        yield f"gold_risk: expected a number from 0 to 1, found {risk!r}"
        return
    for flag in record["flags"]:
        code = flag["code"]
        expected = _OF_VERDICTS.get(code, risk)
        if code == "gold_risk":
            expected = flag["evidence"]["risk"]
        if risk != expected:
            yield f"gold_risk: expected {expected}, as the flag {code} has it, found {risk}"


def check_pass_rate(rate: Record, question: Record) -> Iterator[str]:
    """The errors of a record of pass_rates.jsonl, whose counts must add up."""
    if tuple(rate) != _RATE_FIELDS:
        yield f"expected the fields {', '.join(_RATE_FIELDS)}, found {', '.join(rate)}"
        return
    models = rate["models"]
    for name, counts in {"all models": rate, **models}.items():
        total, database, suite = (counts.get(count) for count in _COUNTS)
        are_counts = all(type(count) is int for count in (total, database, suite))
        if not are_counts or not 0 <= suite <= database <= total or total < 1:
            yield (
                f"{name}: expected counts 0 <= suite <= database <= total, from 1, found"
                f" {suite!r}, {database!r} and {total!r}"
            )
            return
    for count in _COUNTS:
        expected = sum(counts[count] for counts in models.values())
        if rate[count] != expected:
            yield f"{count}: expected {expected}, the sum of its models, found {rate[count]}"


# Test suites: they add up, and name files that are as they were made; gold SQL gives on them what
# the suite says.


def hash_suites() -> dict[str, str]:
    return {path.as_posix(): hash_file(path) for path in TEST_SUITES.glob("*/*.sqlite")}


def check_suite(suite: Record, question: Record, *, hashes: Mapping[str, str]) -> Iterator[str]:
    """The errors of a record of test_suites.jsonl; `hashes` are those of the databases by path."""
    if tuple(suite) != _SUITE_FIELDS:
        yield f"expected the fields {', '.join(_SUITE_FIELDS)}, found {', '.join(suite)}"
        return
    yield from _check_score(suite["mutation_score"], suite["operators"])
    start = f"{TEST_SUITES}/{question['database_name']}/{question['database_name']}."
    for database in suite["databases"]:
        path = database["path"]
        if not re.fullmatch(re.escape(start) + r"\d\d+\.sqlite", path):
            yield f"path: expected {start}NN.sqlite, found {path!r}"
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
    """A score is what the counts of the operators say, or null if no neighbor counts."""
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
    """The databases of suites on which gold SQL, executed, gives another answer than the suite
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
        return None  # which check_suite says
    ordered = read_order(database["order_matters"], segments)
    if answers_match(stored, answer, ordered=ordered, rel_tol=rel_tol):
        return None
    return f"gold_answer: expected {shorten(answer)}, by gold SQL, found {shorten(stored)}"
