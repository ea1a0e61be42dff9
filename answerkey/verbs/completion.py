"""`answerkey completion`: shells complete verbs and options."""

from __future__ import annotations

import argparse

from answerkey.verbs.options import ReadPath

ABOUT = "print a script by which a shell completes these commands"
EXAMPLE = "bash"


def add_options(parser: argparse.ArgumentParser, _: ReadPath) -> None:
    parser.add_argument("shell", choices=("bash", "tcsh", "zsh"), help="which shell")


def run(shell: str, *, command: argparse.ArgumentParser) -> int:
    """command: the parser of all verbs."""
    import shtab

    print(shtab.complete(command, shell=shell))
    return 0
