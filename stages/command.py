"""A stage as a command: `python -m stages.NAME` does its work, or says in words why it did not.

Exit status 0: done; 1: an error, which is on stderr; 2: options that it does not have.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from stages.errors import explain_error
from stages.params import load_params


def make_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """A parser of options, whose `--help` starts with the first paragraph of a module's docstring.

    >>> make_parser("load_questions", "Every question, once.\\n\\nMore.").description
    'Every question, once.'
    """
    return argparse.ArgumentParser(
        prog=f"python -m stages.{module}", description=doc.split("\n\n")[0], allow_abbrev=False
    )


def run_stage(main: Callable[..., None], *, has_options: bool = False) -> None:
    """Call the `main` of the module that Python runs, and exit with status 1 where it fails.

    What a user can mend ends with its message on stderr, a fault of ours with its traceback:
    `stages.errors` says which is which.

    has_options: main parses the arguments of the command line itself, with `make_parser`; without
        it, the stage has no option but `--help`.
    """
    module = sys.modules[main.__module__]
    name = module.__spec__.name.removeprefix("stages.")
    arguments = sys.argv[1:]
    if not has_options:
        make_parser(name, module.__doc__).parse_args(arguments)
        arguments = []
    try:
        load_params()  # also where this stage reads none: a mistake ends a run before it starts
        main(*arguments)
    except Exception as error:  # most of them go on as they came
        message = explain_error(error)
        if message is None:
            raise
        print(f"{name}: error: {message}", file=sys.stderr)
        sys.exit(1)
