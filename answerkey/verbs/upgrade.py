"""`answerkey upgrade`: a project of your own at the version that is installed."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = "bring a project of your own to the version that is installed"
EXAMPLE = "--dry-run"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument(
        "--dry-run", action="store_true", help="say what it does, and write nothing"
    )


def run(*, dry_run: bool) -> int:
    from answerkey.project.upgrade import upgrade_project

    print(upgrade_project(dry_run=dry_run))
    return 0
