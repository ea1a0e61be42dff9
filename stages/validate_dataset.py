"""A dataset that is wrong goes no further: every record is checked before teammates can take it.

In the pipeline a record is compared with what earlier stages wrote: the answer that gold SQL gave
on the same database, its tables, its difficulty. audit_gold_answers has executed every query a
second time. `--validate` executes and parses gold SQL itself: that is for a teammate who has pulled
the product.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from logging import Logger
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import make_parser, run_stage
from answerkey.core.log import start_log
from answerkey.core.params import read_params
from answerkey.core.question import EASY, HARD, MEDIUM
from answerkey.core.reasons import Flag
from answerkey.core.records import write_json
from answerkey.selection.difficulty_rule import DifficultyRule
from answerkey.selection.policies import Policy, read_policies
from answerkey.selection.targets import Targets
from answerkey.sqlite.guard import Limits
from answerkey.validation.checks import Record, Terms, find_errors
from answerkey.validation.derived_facts import RULE_OF_TABLES, derive_facts
from answerkey.validation.product_checks import (
    NothingToValidateError,
    check_files,
    check_product,
    check_selected,
    read_product,
)
from answerkey.validation.selection_checks import INTERIM, RECORDS, SELECTION, check_selection

OUT = INTERIM / "validation.json"
SHARES = Targets(difficulty_shares={EASY: 0.4, MEDIUM: 0.4, HARD: 0.2}, tolerance=0.02)


class ValidationError(Exception):
    """A dataset that failed; the message counts the errors and lists every one."""

    def __init__(self, errors: list[str]) -> None:
        super().__init__("\n".join([f"Validation failed with {len(errors)} errors", *errors]))
        self.errors = errors


def validate_dataset(
    questions: Iterable[Record],
    db_paths: Mapping[str, Path],
    *,
    targets: Targets | None = SHARES,
    rule: DifficultyRule = RULE_OF_TABLES,
    order_matters: Mapping[str, bool] | None = None,
    said: Mapping[str, str] | None = None,
    corpora: Mapping[str, str] | None = None,
    has_unique_texts: bool = True,
    rel_tol: float = 1e-6,
    limits: Limits | None = None,
) -> list[str]:
    """Every error of a dataset, in words; none: it is good.

    >>> validate_dataset([{"question_id": "a_train_000"}], {})  # doctest: +ELLIPSIS
    ['a_train_000: fields: expected question_id, question_text, ..., found question_id']

    Fields and their order, types, vocabularies, ids and splits are checked. Gold SQL is executed on
    `db_paths`: its answer must be gold_answer, as a sequence where its order is certain, and its
    tables tables_involved. The number of tables makes the difficulty (1 or 2: easy, 3: medium), 40%
    of the dataset are easy, 40% medium and 20% hard, within two points, and no database is asked
    one text twice.

    A dataset that was made by other params needs their `targets` (None: no shares) and `rule`, and
    by question_id what the rule and the targets ask for: the corpus's word of its difficulty
    (`said`) and its corpus (`corpora`). `order_matters` says whose answers are sequences.
    `has_unique_texts=False` lets texts come again.

    Raises:
        sqlite3.Error: where a file is no database, or a corrupt one.
    """
    known = {"order_matters": order_matters, "said": said, "corpora": corpora}
    with derive_facts(db_paths, rule=rule, rel_tol=rel_tol, limits=limits, **known) as look_up:
        return find_errors(questions, look_up, Terms(targets, has_unique_texts, rel_tol))


def validate_product(terms: Terms, rule: DifficultyRule, limits: Limits, log: Logger) -> list[str]:
    """The errors of the product that lies here: against gold SQL, and against what the stages wrote
    where all of that is here. What gold SQL tells of a question is not told a second time.

    Raises:
        NothingToValidateError: before a pull.
    """
    if missing := check_files():
        return missing
    questions, errors = read_product()
    errors += check_product(questions, terms, rule, limits)
    if all(path.exists() for path in RECORDS):
        told = {error.partition(":")[0] for error in errors}
        found = check_selected(questions, SELECTION)
        errors += [error for error in found if error.partition(":")[0] not in told]
        errors += check_selection(terms)
    else:
        log.info("%s is not all here: the product is held against gold SQL alone", INTERIM)
    return list(dict.fromkeys(errors))


def main(*arguments: str) -> None:
    """Validate the selection in the pipeline, or with --validate the product that lies here."""
    parser = make_parser("stages.validate_dataset", __doc__)
    parser.add_argument(
        "--validate",
        action="store_true",
        help="check data/questions against data/databases, executing gold SQL, and against"
        " data/interim where it is there; exit status 0: valid, 1: not, 3: nothing here yet",
    )
    is_product = parser.parse_args(arguments).validate
    log = start_log("validate_dataset")
    target_values, policy_values, rel_tol, rule_values, limits = read_params(
        "select_questions.targets",
        "select_questions.policies",
        "validate_dataset.rel_tol",
        "classify_difficulty",
        "compute_gold_answers",
    )
    policies = read_policies(policy_values)
    repeats = (policies[flag] for flag in (Flag.DUPLICATE_QUESTION, Flag.CONFLICTING_GOLD))
    has_unique_texts = all(policy is Policy.EXCLUDE for policy in repeats)
    terms = Terms(Targets(**target_values), has_unique_texts, rel_tol)
    if is_product:
        try:
            errors = validate_product(terms, DifficultyRule(**rule_values), Limits(**limits), log)
        except NothingToValidateError as error:
            log.error("%s", error)
            sys.exit(3)
    else:
        errors = check_selection(terms)
        write_json(OUT, {"errors": errors})
    if errors:
        log.error("%s", ValidationError(errors))
        sys.exit(1)
    log.info("no errors")


if __name__ == "__main__":
    run_stage(main, has_options=True)
