"""A stage as a command: `python -m stages.NAME`, or `python stages/NAME.py`, does its work, or says
in words why it did not.

Exit status 0: done; 1: an error, which is on stderr; 2: options that it does not have.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from answerkey.errors import InputError, explain_error, let_reader_leave
from answerkey.params import load_params


def make_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """A parser of options, whose `--help` starts with the first paragraph of the docstring of that
    module.

    >>> make_parser("stages.load_questions", "Every question, once.\\n\\nMore.").description
    'Every question, once.'
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}", description=doc.split("\n\n")[0], allow_abbrev=False
    )


def run_stage(main: Callable[..., None], *, has_options: bool = False) -> None:
    """Call the `main` of the module that Python runs, and exit with status 1 where it fails.

    What a user can mend ends with its message on stderr, a fault of ours with its traceback:
    `answerkey.errors` says which is which.

    has_options: main parses the arguments of the command line itself, with `make_parser`, and reads
        params once it knows them. Without it the stage has no option but `--help`, and params are
        checked whether it reads any or not: a mistake in them ends a run before it starts.
    """
    module = sys.modules[main.__module__]
    name = Path(module.__file__).stem
    try:
        with let_reader_leave():
            if has_options:
                main(*sys.argv[1:])
            else:
                make_parser(f"stages.{name}", module.__doc__).parse_args()
                load_params()
                main()
    except (InputError, OSError, MemoryError, sqlite3.Error) as error:
        message = explain_error(error)
        if message is None:
            raise
        print(f"{name}: error: {message}", file=sys.stderr)
        sys.exit(1)
