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
    parser.add_argument(
        "--environments",
        action="store_true",
        help="with the folders of trainers' frameworks; in a project that is there, these alone",
    )
    add_sources(parser, _read_absolute)


def _read_absolute(text: str) -> Path:
    """It works in another folder than the one in which a user names files."""
    return Path(text).absolute()


def run(folder: Path, *, environments: bool, **options: Any) -> int:
    from answerkey.base.paths import CODE
    from answerkey.project.environments import bring_environments
    from answerkey.project.init import init_project

    is_there = environments and (folder / CODE).is_file() and not any(options.values())
    made = [] if is_there else [init_project(folder, **options)]
    print("\n".join([*([bring_environments(folder)] if environments else []), *made]))
    return 0
