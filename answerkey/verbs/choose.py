"""`answerkey choose`: the corpora that the dataset is made of."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = (
    "choose the corpora of the dataset: sets `corpus` in params.yaml, and lets DVC watch their"
    " folders and no others"
)
EXAMPLE = "spider bird"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument(
        "corpus", nargs="*", help="an entry of corpora (default: those that params.yaml chooses)"
    )


def run(corpus: list[str]) -> int:
    from answerkey.corpus.choose_corpora import choose_corpora

    print(choose_corpora(corpus))
    return 0
