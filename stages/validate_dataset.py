"""A dataset that is wrong goes no further: every record is checked before teammates can take it.

In the pipeline the gold answers are compared with what compute_gold_answers executed on the same
database; audit_gold_answers has executed every query a second time. `--validate` executes gold SQL
itself: that is for a teammate who has pulled the product and nothing else.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

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
from stages.command import make_parser, run_stage
from stages.fingerprints import read_database_hashes
from stages.guard import Limits
from stages.log import start_log
from stages.params import read_params
from stages.question import SPLITS
from stages.recorded_facts import (
    Report,
    look_up_reports,
    read_corpora,
    read_order_matters,
    recorded_answers,
    recorded_reports,
)
from stages.records import hash_file, read_jsonl, write_json
from stages.selection.targets import Targets
from stages.sidecars import are_in_step, check_conservation, check_sidecars

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
        read_jsonl(paths[0]), recorded_answers(INTERIM), report, targets=targets, rel_tol=rel_tol
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
    parser = make_parser("validate_dataset", __doc__)
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
    run_stage(main, has_options=True)
