"""`answerkey verdicts`: two readers of gold side by side."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from answerkey.base.errors import raise_input_errors
from answerkey.verbs.options import ReadPath

ABOUT = "compare what two readers say of gold: kappa, counts, and where they differ"
EXAMPLE = "data/verdicts/kim.jsonl data/verdicts/qwen3-32b.jsonl"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument(
        "files", type=read_path, nargs=2, metavar="FILE", help="a file of verdicts of each reader"
    )
    parser.add_argument(
        "--json", dest="as_json", action="store_true", help="one line of JSON, with all"
    )
    parser.add_argument(
        "--ids",
        type=read_path,
        help="write the ids of the questions on which they differ, a line each, for a third reader",
    )


def run(files: list[Path], *, ids: Path | None, as_json: bool) -> int:
    from answerkey.base.paths import INTERIM
    from answerkey.dataset import JOINED, read_joined
    from answerkey.risk.agreement import compare_verdicts, describe_comparison

    has_run = (INTERIM / JOINED).is_file()
    left, right = files
    comparison = compare_verdicts(left, right, read_joined() if has_run else ())
    if as_json:
        print(json.dumps(comparison.describe()))
    else:
        print(describe_comparison(comparison))
    if ids is not None:
        lines = "".join(f"{name}\n" for name in comparison.list_ids())
        with raise_input_errors(ids):
            ids.write_text(lines, encoding="utf-8")
    return 0
