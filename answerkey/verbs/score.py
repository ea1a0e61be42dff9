"""`answerkey score`: which predictions are right."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from answerkey.base.errors import raise_input_errors
from answerkey.verbs.options import ReadPath, add_dataset

ABOUT = "print a line of JSON with the score of each prediction"
EXAMPLE = "predictions.jsonl"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument("predictions", type=read_path, help="JSON Lines, or SQL in a file's order")
    add_dataset(parser, read_path)


def run(predictions: Path, **options: Any) -> int:
    from answerkey.evaluate import score_file

    with raise_input_errors(predictions):
        scores = score_file(predictions, **options)
    for score in scores:  # a reader that leaves is no mistake of the predictions
        print(json.dumps(score))
    return 0
