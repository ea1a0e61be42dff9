"""`answerkey validate`: whether the product here is what its databases say."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = (
    "check data/questions against its databases, executing gold SQL; exit status 0: valid,"
    " 1: not, 3: nothing here yet"
)
EXAMPLE = ""


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    """It takes none."""


def run() -> int:
    from answerkey.base.digests import check_code
    from answerkey.base.log import start_log
    from answerkey.sections.corpora import list_crossing
    from answerkey.sections.whole_file import read_params
    from answerkey.validation.dataset import report_product

    check_code()
    params = read_params()
    settings = params.select_questions
    rule = params.classify_difficulty
    limits = params.compute_gold_answers
    crossing = list_crossing(params.corpora)
    return report_product(start_log("validate"), settings, rule, limits, crossing=crossing)
