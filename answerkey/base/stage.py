"""A stage as a command. It checks the installed code and all of params.yaml before it starts.
Errors that a user can fix end it with a message."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from answerkey.base.digests import check_code
from answerkey.base.errors import exit_on_error

_Params = TypeVar("_Params")


def make_parser(module: str, doc: str) -> argparse.ArgumentParser:
    """Return a parser whose `--help` starts with the first paragraph of the module's docstring.

    >>> make_parser("stages.load_questions", "Every question, once.\\n\\nMore.").description
    'Every question, once.'
    """
    return argparse.ArgumentParser(
        prog=f"python -m {module}", description=doc.split("\n\n")[0], allow_abbrev=False
    )


def run_stage(main: Callable[[_Params], None], read_params: Callable[[], _Params]) -> None:
    """Check all params, then call the stage's `main` with them. Exit status 0: done; 1: an error,
    shown on stderr; 2: wrong options: there is only `--help`."""
    module = sys.modules[main.__module__]
    name = _name_stage(main)
    _hear_interrupts()
    with exit_on_error(name, label="error: "):
        make_parser(f"stages.{name}", module.__doc__ or "").parse_args()
        check_code(name)
        main(read_params())


def run_command(main: Callable[..., None]) -> None:
    """Call a `main` that parses the command line itself, with `make_parser`, and reads params when
    it needs them. Exit status as of `run_stage`."""
    _hear_interrupts()
    name = _name_stage(main)
    with exit_on_error(name, label="error: "):
        check_code(name)
        main(*sys.argv[1:])


def _hear_interrupts() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # see stages/__init__.py


def _name_stage(main: Callable[..., None]) -> str:
    module = sys.modules[main.__module__]
    return Path(module.__file__ or module.__name__).stem
