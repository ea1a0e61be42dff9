"""A stage as a command: `python -m stages.NAME` does its work, or says in words why it did not.

Exit status 0: done; 1: an error, which is on stderr; 2: options that it does not have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from answerkey.base.errors import tell_errors
from answerkey.base.params import load_params


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
    """Call the `main` of the module that Python runs, and exit with status 1 if it fails.

    has_options: main parses the arguments of the command line itself, with `make_parser`. Without
        it the stage has no option but `--help`, and all params are checked before it starts.
    """
    module = sys.modules[main.__module__]
    name = Path(module.__file__).stem
    with tell_errors(f"{name}: error"):
        if has_options:
            main(*sys.argv[1:])
        else:
            make_parser(f"stages.{name}", module.__doc__).parse_args()
            load_params()
            main()
