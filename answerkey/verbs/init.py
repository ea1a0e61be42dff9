"""`answerkey init`: a project of your own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from answerkey.verbs.new import add_sources
from answerkey.verbs.options import ReadPath

ABOUT = (
    "make a project of your own in DIR, with a corpus, git and DVC; nothing that is there is"
    " replaced"
)
EXAMPLE = "shop --database shop.duckdb --questions questions.xlsx"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument(
        "folder", metavar="DIR", type=_read_absolute, help="a folder, or . for this one"
    )
    parser.add_argument("--sample", action="store_true", help="with the sample corpus")
    parser.add_argument(
        "--corpus", help="with an entry of the package's params.yaml, such as spider or bird"
    )
    add_sources(parser, _read_absolute)


def _read_absolute(text: str) -> Path:
    """It works in another folder than the one in which a user names files."""
    return Path(text).absolute()


def run(folder: Path, **options: Any) -> int:
    from answerkey.project.init import init_project

    print(init_project(folder, **options))
    return 0
