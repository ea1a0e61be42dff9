"""`answerkey pin`: a corpus of the hub as it is today."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = "write commits and checksums of corpora of the hub into params.yaml"
EXAMPLE = "spider"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument("corpus", nargs="+", help="an entry of corpora with origin: hub")


def run(corpus: list[str]) -> int:
    from answerkey.corpus.pin_revisions import pin_corpora

    pin_corpora(corpus)
    return 0
