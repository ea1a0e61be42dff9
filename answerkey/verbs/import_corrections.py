"""`answerkey import-corrections`: what others have corrected."""

from __future__ import annotations

import argparse
from pathlib import Path

from answerkey.verbs.options import ReadPath

ABOUT = "make corrections and verdicts of a published list"
EXAMPLE = (
    "fixed.json --corpus bird --name fixed --source https://example.org/fixed"
    " --license cc-by-4.0 --date 2026-03-01"
)


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument("file", type=read_path, help="the list: .json, .jsonl or .csv")
    parser.add_argument("--corpus", required=True, help="the entry of corpora that it is about")
    parser.add_argument("--name", required=True, help="of the files that are written")
    parser.add_argument("--source", required=True, help="the address of the list, or who made it")
    parser.add_argument("--license", required=True, help="of the list, such as cc-by-4.0")
    parser.add_argument("--date", required=True, help="its day, such as 2026-03-01")


def run(file: Path, *, date: str, **options: str) -> int:
    from answerkey.corpus.import_corrections import import_list

    import_list(file, day=date, **options)
    return 0
