"""`answerkey evaluate`: how many predictions are right."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from answerkey.base.errors import raise_input_errors
from answerkey.verbs.options import ReadPath, add_dataset, read_share

ABOUT = "tell how many predictions are right, and rank systems"
EXAMPLE = "small.jsonl large.jsonl"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument(
        "predictions",
        type=read_path,
        nargs="+",
        help="JSON Lines, or SQL in a file's order; several files are compared",
    )
    add_dataset(parser, read_path)
    parser.add_argument(
        "--out",
        type=read_path,
        default=Path("reports/evaluation"),
        help="the folder for the page and the numbers (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        help="print summary.json in place of the table, as one line",
    )
    parser.add_argument(
        "--fail-under",
        type=read_share,
        metavar="SHARE",
        help="end with status 1 if fewer are right, on the suites if these are used: 0.7 is 70 %%",
    )
    parser.add_argument("--split", choices=("train", "eval"), help="count its questions alone")
    parser.add_argument(
        "--all-usable",
        action=argparse.BooleanOptionalAction,
        help="count usable questions that are not selected (default: if there are predictions"
        " for them)",
    )


def run(
    predictions: list[Path],
    *,
    out: Path,
    as_json: bool,
    fail_under: float | None,
    **options: Any,
) -> int:
    from answerkey import evaluate

    with raise_input_errors(out):
        summary = evaluate.evaluate(*predictions, out=out, **options)
    below = [] if fail_under is None else evaluate.list_below(summary, fail_under)
    partial = evaluate.list_partial(summary)
    print(json.dumps(summary) if as_json else evaluate.describe(summary), flush=True)
    for sentence in below + partial * (as_json or bool(below)):
        print(sentence, file=sys.stderr)
    return 1 if below else 0
