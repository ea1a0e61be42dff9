"""`answerkey repairs`: what is in doubt, and what was likelier meant."""

from __future__ import annotations

import argparse
import json

from answerkey.verbs.options import ReadPath, read_count

ABOUT = (
    "list questions whose gold is in doubt, and what was likelier meant, the riskiest answers first"
)
EXAMPLE = "--limit 20"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument("--sql", action="store_true", help="the riskiest SQL first")
    parser.add_argument("--limit", type=read_count, metavar="N", help="so many questions")
    parser.add_argument(
        "--json", dest="as_json", action="store_true", help="a line of JSON a question, with all"
    )


def run(*, sql: bool, limit: int | None, as_json: bool) -> int:
    from answerkey.base.paths import REPAIRS
    from answerkey.risk.explanations import describe_repaired
    from answerkey.risk.repairs import read_repairs

    for number, record in enumerate(read_repairs(REPAIRS, by_sql=sql, limit=limit)):
        if as_json:
            print(json.dumps(record))
        else:
            print("\n" * bool(number) + describe_repaired(record))
    return 0
