"""A dataset that is wrong goes no further: every record is checked before teammates can take it.

In the pipeline the gold answers are compared with what compute_gold_answers executed on the same
database; audit_gold_answers has executed every query a second time. `--validate` executes gold SQL
itself: that is for a teammate who has pulled the product and nothing else.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from stages.checks import (
    Execute,
    Record,
    Tally,
    check_answer,
    check_ids,
    check_record,
    check_splits,
    check_targets,
    execute_on,
)
from stages.dossier import read_dossiers
from stages.fingerprints import read_database_hashes
from stages.guard import Limits
from stages.log import start_log
from stages.params import read_params
from stages.question import SPLITS
from stages.records import hash_file, read_jsonl, write_json
from stages.selection.targets import Targets

INTERIM = Path("data/interim")
SELECTION = INTERIM / "selection"
DATABASES = Path("data/databases")
PRODUCT = Path("data/questions")
OUT = INTERIM / "validation.json"


class ValidationError(Exception):
    """A dataset that failed; the message counts the errors and lists every one."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join([f"Validation failed with {len(errors)} errors", *errors]))
        self.errors = errors


class Report(NamedTuple):
    """What a sidecar says of a question: whether its answer has rows in an order, and its corpus,
    '' where that does not matter."""

    order_matters: bool
    corpus: str


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, Path],
    *,
    order_matters: Mapping[str, bool] | None = None,
    corpora: Mapping[str, str] | None = None,
    targets: Targets | None = None,
    rel_tol: float = 1e-6,
    limits: Limits | None = None,
) -> list[str]:
    """Every error of a dataset, in words; none: it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']

    Fields and their order, types, vocabularies, ids and splits are checked, gold SQL is executed on
    `db_paths` and its answer compared with gold_answer, as a sequence where `order_matters` says so
    for the question_id, and shares are compared with `targets`; those of corpora by `corpora`,
    which names the corpus of a question_id.

    Raises:
        sqlite3.Error: where a file is no database, or a corrupt one.
    """
    report = look_up_reports(order_matters or {}, corpora or {})
    with execute_on(db_paths, limits) as execute:
        return find_errors(questions, execute, report, targets=targets, rel_tol=rel_tol)


def look_up_reports(
    order_matters: Mapping[str, bool], corpora: Mapping[str, str]
) -> Callable[[str], Report]:
    """Look reports up by question_id, in whatever order."""

    def look_up(question_id: str) -> Report:
        return Report(order_matters.get(question_id, False), corpora.get(question_id, ""))

    return look_up


def find_errors(
    questions: Iterable[Record],
    execute: Execute,
    report: Callable[[str], Report],
    *,
    targets: Targets | None,
    rel_tol: float,
) -> list[str]:
    """As `validate_dataset`, with what gold SQL returns and what sidecars say looked up. The
    questions are gone through once, and not held."""
    errors: list[str] = []
    of_answers: list[str] = []
    tally = Tally()
    for number, question in enumerate(questions):
        if found := check_record(question):
            has_name = isinstance(question, dict) and "question_id" in question
            name = question["question_id"] if has_name else f"record {number}"
            errors += [f"{name}: {error}" for error in found]
            continue
        ordered, corpus = report(question["question_id"])
        tally.add(question, corpus)
        of_answers += check_answer(question, execute, ordered=ordered, rel_tol=rel_tol)
    errors += [*check_ids(tally), *check_splits(tally), *of_answers]
    if targets is not None:
        errors += check_targets(tally, targets)
    return errors


def recorded_answers(interim: Path = INTERIM) -> Execute:
    """Look answers up in what compute_gold_answers executed; questions come in their order."""
    dossiers = read_dossiers(interim)

    def look_up(question_id: str, database_name: str, gold_sql: str) -> Any:
        for dossier in dossiers:
            if dossier.question_id == question_id:
                source = dossier.source
                if (source["database_name"], source["gold_sql"]) != (database_name, gold_sql):
                    raise LookupError("not the SQL or the database that was executed")
                return dossier.outcome.get("gold_answer")
        raise LookupError("never executed, or out of order")

    return look_up


def check_sidecars(
    questions: Iterable[Record],
    audit: Iterable[Record],
    excluded: Iterable[Record],
    hashes: Mapping[str, str],
) -> list[str]:
    """Where product and sidecars do not hold the same questions, or speak of another database."""
    errors = []
    databases = {question["question_id"]: question["database_name"] for question in questions}
    audited: Counter[str] = Counter()
    for record in audit:
        question_id = record["question_id"]
        audited[question_id] += 1
        name = databases.get(question_id)
        if name is None:
            errors.append(f"{question_id}: audit.jsonl: expected only questions of the product")
        elif hashes.get(name) != record["database_sha256"]:
            errors.append(
                f"{question_id}: database_sha256: expected {record['database_sha256']}, found"
                f" {hashes.get(name)} for {name}"
            )
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
    """Whether the next of the loaded questions, whose ids are all different, is always the next of
    product and audit, or the next that is excluded.

    Then `check_sidecars` and `check_conservation` find nothing: nothing is held to know that.
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


def read_order_matters(audit_path: Path) -> dict[str, bool]:
    """True by question_id, for the questions whose answers have rows in an order."""
    return {
        record["question_id"]: True for record in read_jsonl(audit_path) if record["order_matters"]
    }


def read_corpora(audit_path: Path, targets: Targets) -> dict[str, str]:
    """The corpus by question_id, where a target asks for it; else nothing."""
    if targets.corpus_shares is None:
        return {}
    return {
        record["question_id"]: sys.intern(record["source"]["corpus"])
        for record in read_jsonl(audit_path)
    }


def recorded_reports(audit_path: Path) -> Callable[[str], Report]:
    """Look reports up in a sidecar; questions come in its order."""
    audits = read_jsonl(audit_path)

    def look_up(question_id: str) -> Report:
        audit = next(audit for audit in audits if audit["question_id"] == question_id)
        return Report(audit["order_matters"], audit["source"]["corpus"])

    return look_up


def validate_selection(targets: Targets, rel_tol: float) -> list[str]:
    """The errors of the selection that lies between the stages."""
    paths = [SELECTION / f"{name}.jsonl" for name in ("questions", "audit", "excluded")]
    paths.append(INTERIM / "splits.jsonl")
    hashes = read_database_hashes(DATABASES)
    is_in_step = are_in_step(*map(read_jsonl, paths), hashes)
    if is_in_step:
        report = recorded_reports(paths[1])
    else:
        report = look_up_reports(read_order_matters(paths[1]), read_corpora(paths[1], targets))
    errors = find_errors(
        read_jsonl(paths[0]), recorded_answers(), report, targets=targets, rel_tol=rel_tol
    )
    if is_in_step:
        return errors
    questions, audit, excluded, _ = map(read_jsonl, paths)
    errors += check_sidecars(questions, audit, excluded, hashes)
    questions, _, excluded, loaded = map(read_jsonl, paths)
    return errors + check_conservation(questions, excluded, loaded)


def has_names(question: Any) -> bool:
    """Whether a record says which question of which database it is."""
    return isinstance(question, dict) and all(
        isinstance(question.get(name), str) for name in ("question_id", "database_name")
    )


def read_product(split: str) -> tuple[list[Any], list[str]]:
    """The records of a split as they lie in data/questions, and what is wrong with the file."""
    path = PRODUCT / f"questions_{split}.json"
    try:
        records = json.loads(path.read_bytes())
    except ValueError as error:
        return [], [f"{path}: not JSON: {error}"]
    if not isinstance(records, list):
        return [], [f"{path}: expected a JSON array, found {type(records).__name__}"]
    return records, [
        f"{record.get('question_id')}: split: expected {split}, found {record.get('split')!r}"
        for record in records
        if isinstance(record, dict) and record.get("split") != split
    ]


def validate_product(targets: Targets, rel_tol: float, limits: Limits) -> list[str]:
    """The errors of the product, with every gold query executed on the databases beside it."""
    questions: list[Any] = []
    errors: list[str] = []
    for split in SPLITS:
        records, found = read_product(split)
        questions += records
        errors += found
    named = [question for question in questions if has_names(question)]
    names = sorted({question["database_name"] for question in named})
    db_paths = {name: DATABASES / name / f"{name}.sqlite" for name in names}
    hashes = {name: hash_file(path) for name, path in db_paths.items() if path.is_file()}
    audit, excluded = read_jsonl(PRODUCT / "audit.jsonl"), read_jsonl(PRODUCT / "excluded.jsonl")
    errors += check_sidecars(named, audit, excluded, hashes)
    try:
        return errors + validate_dataset(
            questions,
            db_paths,
            order_matters=read_order_matters(PRODUCT / "audit.jsonl"),
            corpora=read_corpora(PRODUCT / "audit.jsonl", targets),
            targets=targets,
            rel_tol=rel_tol,
            limits=limits,
        )
    except sqlite3.Error as error:
        return [*errors, f"{error}: expected a database; run `dvc checkout` or `dvc pull`"]


def main(*arguments: str) -> None:
    """Validate the selection in the pipeline, or with --validate the product that lies here."""
    parser = argparse.ArgumentParser(prog="python -m stages.validate_dataset")
    parser.add_argument(
        "--validate",
        action="store_true",
        help="check data/questions against data/databases, executing gold SQL; exit 0 or 1",
    )
    is_product = parser.parse_args(arguments).validate
    log = start_log("validate_dataset")
    target_values, rel_tol, limits = read_params(
        "select_questions.targets", "validate_dataset.rel_tol", "compute_gold_answers"
    )
    targets = Targets(**target_values)
    if is_product:
        errors = validate_product(targets, rel_tol, Limits(**limits))
    else:
        errors = validate_selection(targets, rel_tol)
        write_json(OUT, {"errors": errors})
    if errors:
        log.error("%s", ValidationError(errors))
        sys.exit(1)
    log.info("no errors")


if __name__ == "__main__":
    main(*sys.argv[1:])
