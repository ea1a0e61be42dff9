"""Check every record of the dataset before teammates can use it; an error stops the run.

In the pipeline a record is compared with what earlier stages wrote: gold's answer on the same
database, its tables, its difficulty. `--validate` executes and parses gold SQL itself, for a
teammate who has pulled the product.
"""

from __future__ import annotations

import sys

from answerkey.base.log import start_log
from answerkey.base.paths import VALIDATION
from answerkey.base.records import write_json
from answerkey.base.stage import make_parser, run_command
from answerkey.sections.corpora import list_crossing
from answerkey.sections.whole_file import read_params
from answerkey.validation.checks import ValidationError, check_selection


def main(*arguments: str) -> None:
    """Validate the selection in the pipeline, or with --validate the product of this project."""
    parser = make_parser("stages.validate_dataset", __doc__)
    parser.add_argument(
        "--validate",
        action="store_true",
        help="check data/questions against data/databases, executing gold SQL; exit status 0:"
        " valid, 1: not, 3: nothing here yet",
    )
    is_product = parser.parse_args(arguments).validate
    log = start_log("validate_dataset")
    params = read_params()
    settings = params.select_questions
    rule = params.classify_difficulty
    limits = params.compute_gold_answers
    crossing = list_crossing(params.corpora)
    if is_product:
        # The parser takes longer to load than the rest, and the pipeline does not need it here.
        from answerkey.validation.dataset import report_product

        if status := report_product(log, settings, rule, limits, crossing=crossing):
            sys.exit(status)
        return
    errors = check_selection(settings, crossing=crossing)
    write_json(VALIDATION, {"errors": errors})
    if errors:
        log.error("%s", ValidationError(errors))
        sys.exit(1)
    log.info("no errors")


if __name__ == "__main__":
    run_command(main)
