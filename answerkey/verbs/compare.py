"""`answerkey compare`: two runs side by side."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = "list questions that came, went or changed since a git revision"
EXAMPLE = "HEAD~1"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument("revision", metavar="REV", help="a commit, a branch or a tag")


def run(revision: str) -> int:
    import dvc  # noqa: F401  # which runs as a process of its own

    from answerkey.report.comparison import compare_product

    print(compare_product(revision))
    return 0
