"""Checks of the pass rates beside the product: each is of one question, and its counts add up."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from answerkey.dataset import AUDIT, DIFFICULTY, INTERIM, JOINED, PASS_RATES, SUITES
from answerkey.records import hash_file, read_database_hashes, read_jsonl
from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import read_rule
from answerkey.sqlite.answers import answer_rows, answers_match, read_order, shape_answer
from answerkey.sqlite.files import find_inside
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from answerkey.validation.checks import Terms, find_errors
from answerkey.validation.facts import Record, are_segments, recorded_facts, shorten

_COUNTS = ("total", "database", "suite")
_FIELDS = ("question_id", *_COUNTS, "models")


def check_pass_rates(questions: Iterable[Record], pass_rates: Iterable[Record]) -> list[str]:
    """Where pass rates are of no question, of one twice, or contradict themselves. A question may
    have none."""
    names = {question["question_id"] for question in questions}
    errors = []
    found: set[str] = set()
    for rate in pass_rates:
        question_id = rate["question_id"]
        words = list(_check(rate))
        if question_id not in names:
            words.append("expected only questions of the product")
        if question_id in found:
            words.append("expected one record, found another")
        found.add(question_id)
        errors += [f"{question_id}: {PASS_RATES}: {error}" for error in words]
    return errors


def _check(rate: Record) -> Iterator[str]:
    if tuple(rate) != _FIELDS:
        yield f"expected the fields {', '.join(_FIELDS)}, found {', '.join(rate)}"
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


# Checks of what the sidecar tells the reward: how many steps, by which rule, and which rows.


_LEAST_STEPS = 1_000_000


def check_reward_terms(questions: Iterable[Record], audit: Iterable[Record]) -> list[str]:
    """Where audit.jsonl has no bound of steps, names no rule, or would not accept gold itself."""
    errors = []
    with_ties: dict[str, Record] = {}
    for record in audit:
        errors += [f"{record['question_id']}: {AUDIT}: {error}" for error in _check_terms(record)]
        if record.get("accepted_rows") is not None:
            with_ties[record["question_id"]] = record
    for question in questions:
        record = with_ties.get(question["question_id"])
        if record is not None and not _accepts_gold(question["gold_answer"], record):
            errors.append(
                f"{question['question_id']}: {AUDIT}: accepted_rows: expected segments that"
                f" accept gold_answer, found {shorten(record['accepted_rows'])}"
            )
    return errors


def _check_terms(record: Record) -> list[str]:
    errors = []
    max_steps, rule = record.get("max_steps"), record.get("rule")
    if type(max_steps) is not int or max_steps < _LEAST_STEPS:
        errors.append(
            f"max_steps: expected a whole number from {_LEAST_STEPS}, found {max_steps!r}"
        )
    if not isinstance(rule, str):
        return [*errors, f"rule: expected text, found {rule!r}"]
    try:
        read_rule(rule)
    except ValueError as error:
        errors.append(f"rule: {error}")
    return errors


def _accepts_gold(gold_answer: Any, record: Record) -> bool:
    segments = record["accepted_rows"]
    return are_segments(segments, gold_answer) and rows_match(
        answer_rows(gold_answer),
        gold_answer,
        rule=read_rule("strict"),
        order_matters=record["order_matters"],
        accepted_rows=segments,
    )


# Checks of the gold risk in the sidecars: a number from 0 to 1, that of its flag or verdict.


_OF_VERDICTS = {"judged_right": 0.0, "judged_wrong": 1.0}


def check_gold_risks(sidecars: Mapping[str, Iterable[Record]]) -> list[str]:
    """Where a record of a sidecar, named by its file, has no gold risk that can be meant. One
    without flags may have none: where it has no answer, nothing is known of its gold."""
    return [
        f"{record['question_id']}: {name}: {error}"
        for name, records in sidecars.items()
        for record in records
        for error in _check_risk_checks(record)
    ]


def _check_risk_checks(record: Record) -> Iterator[str]:
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
        is_own = code == "gold_risk"
        expected = flag["evidence"]["risk"] if is_own else _OF_VERDICTS.get(code, risk)
        if risk != expected:
            yield f"gold_risk: expected {expected}, as the flag {code} has it, found {risk}"


# Checks of the selection that lies between the stages, against what they wrote before it.


SELECTION = INTERIM / "selection"
TEST_SUITES = Path("data/test_suites")
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
    """Whether all that the selection is held against is here."""
    return all(path.exists() for path in RECORDS)


def check_selection(terms: Terms) -> list[str]:
    """The errors of the selection that lies between the stages."""
    paths = [SELECTION / f"{name}.jsonl" for name in ("questions", "audit", "excluded")]
    paths.append(INTERIM / JOINED)
    hashes = read_database_hashes(DATABASES)
    errors = find_errors(read_jsonl(paths[0]), recorded_facts(INTERIM), terms)
    errors += check_reward_terms(*map(read_jsonl, paths[:2]))
    errors += check_gold_risks({path.name: read_jsonl(path) for path in paths[1:3]})
    suites = read_jsonl(SELECTION / SUITES)
    errors += check_suites(read_jsonl(paths[0]), suites, hash_suites())
    errors += check_pass_rates(read_jsonl(paths[0]), read_jsonl(SELECTION / PASS_RATES))
    if are_in_step(*map(read_jsonl, paths), hashes):
        return errors
    questions, audit, excluded, _ = map(read_jsonl, paths)
    errors += check_sidecars(questions, audit, excluded, hashes)
    questions, _, excluded, loaded = map(read_jsonl, paths)
    return errors + check_conservation(questions, excluded, loaded)


# Product and sidecars hold the same questions: each loaded one is in the product and audited
# once, or excluded, and the database is the one that was asked.


def check_sidecars(
    questions: Iterable[Record],
    audit: Iterable[Record],
    excluded: Iterable[Record],
    hashes: Mapping[str, str | None],
) -> list[str]:
    """Where product and sidecars do not hold the same questions, or speak of another database than
    that of `hashes`; a name that is None there is passed over."""
    errors = []
    databases = {question["question_id"]: question["database_name"] for question in questions}
    audited: Counter[str] = Counter()
    others: Counter[tuple[str, str, str | None]] = Counter()
    for record in audit:
        question_id, expected = record["question_id"], record["database_sha256"]
        audited[question_id] += 1
        name = databases.get(question_id)
        if name is None:
            errors.append(f"{question_id}: audit.jsonl: expected only questions of the product")
            continue
        found = hashes.get(name, "none")
        if found not in (None, expected):
            others[name, expected, found] += 1
    errors += [
        f"{name}: database_sha256: expected {expected}, as audit.jsonl has it for {count} of"
        f" the questions, found {found}"
        for (name, expected, found), count in sorted(others.items())
    ]
    errors += [
        f"{question_id}: audit.jsonl: expected one record, found {audited[question_id]}"
        for question_id in sorted(databases)
        if audited[question_id] != 1
    ]
    errors += [
        f"{record['question_id']}: excluded.jsonl: also in the product"
        for record in excluded
        if record["question_id"] in databases
    ]
    return errors


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


def are_in_step(
    questions: Iterable[Record],
    audit: Iterable[Record],
    excluded: Iterable[Record],
    loaded: Iterable[Record],
    hashes: Mapping[str, str],
) -> bool:
    """Whether product, audit and exclusions follow the loaded questions, whose ids are all
    different: the next loaded question is always the next of product and audit, or the next that is
    excluded.

    Then `check_sidecars` and `check_conservation` would find nothing. They keep ids in memory; this
    does not.
    """
    selected = zip_longest(questions, audit, fillvalue={})
    left_out = iter(excluded)
    pair, exclusion = next(selected, None), next(left_out, None)
    for source in loaded:
        question_id = source["question_id"]
        if pair is not None and pair[0].get("question_id") == question_id:
            question, report = pair
            if report.get("question_id") != question_id:
                return False
            if report["database_sha256"] != hashes.get(question["database_name"]):
                return False
            pair = next(selected, None)
        elif exclusion is not None and exclusion["question_id"] == question_id:
            exclusion = next(left_out, None)
        else:
            return False
    return pair is None and exclusion is None


# Checks of the test suites beside the product: each is of one question, adds up, and names files
# that are as they were made; gold SQL gives on them what the suite says.


_FIELDS_SUITE_CHECKS = ("question_id", "mutation_score", "operators", "alive", "databases")
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
        errors += [
            f"{question_id}: {SUITES}: {error}"
            for error in _check_suite_checks(suite, name, hashes)
        ]
    errors += [
        f"{question_id}: {SUITES}: expected one record, found {found[question_id]}"
        for question_id in sorted(names)
        if found[question_id] != 1
    ]
    return errors


def _check_suite_checks(suite: Record, name: str, hashes: Mapping[str, str]) -> Iterator[str]:
    if tuple(suite) != _FIELDS_SUITE_CHECKS:
        yield f"expected the fields {', '.join(_FIELDS_SUITE_CHECKS)}, found {', '.join(suite)}"
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
