"""A dataset that is wrong goes no further: every record is checked before teammates can take it.

In the pipeline a record is compared with what earlier stages wrote: the answer that gold SQL gave
on the same database, its tables, its difficulty. `--validate` executes and parses gold SQL itself:
that is for a teammate who has pulled the product.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.command_line import make_parser, run_stage
from answerkey.dataset import INTERIM
from answerkey.log import start_log
from answerkey.params import Targets, read_params
from answerkey.records import write_json
from answerkey.selection.choice import Policy, read_policies
from answerkey.selection.difficulty_rule import DifficultyRule
from answerkey.sqlite.guard import Limits
from answerkey.validation.checks import Terms, ValidationError
from answerkey.validation.selection import check_selection, has_records

OUT = INTERIM / "validation.json"


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
    repeats = (policies[flag] for flag in ("duplicate_question", "conflicting_gold"))
    has_unique_texts = all(policy is Policy.EXCLUDE for policy in repeats)
    terms = Terms(Targets(**target_values), has_unique_texts, rel_tol)
    if is_product:
        # The parser, which the pipeline does not need here, takes longer to load than the rest.
        from answerkey.validation.dataset import NothingToValidateError, validate_product

        try:
            errors = validate_product(terms, DifficultyRule(**rule_values), Limits(**limits))
        except NothingToValidateError as error:
            log.error("%s", error)
            sys.exit(3)
        if not has_records():
            log.info("%s is not all here: the product is held against gold SQL alone", INTERIM)
    else:
        errors = check_selection(terms)
        write_json(OUT, {"errors": errors})
    if errors:
        log.error("%s", ValidationError(errors))
        sys.exit(1)
    log.info("no errors")


if __name__ == "__main__":
    run_stage(main, has_options=True)
