"""The command `answerkey`: a verb for each thing that people do. What it cannot do, it says in
words, with exit status 1.

A verb is a module of `answerkey.verbs`, and a line of VERBS. It imports what it needs when it runs:
`--help` is there at once, and `evaluate`, `repairs`, `score` and `verdicts` need nothing but
Python.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn, Protocol

from answerkey.base.errors import InputError, exit_on_error, explain_install
from answerkey.base.secrets import hide_secrets, remember_secrets
from answerkey.verbs import (
    choose,
    compare,
    completion,
    correct,
    evaluate,
    explain,
    import_corrections,
    init,
    new,
    pin,
    read,
    repairs,
    score,
    upgrade,
    validate,
    verdicts,
)
from answerkey.verbs.options import DATASET, ReadPath


class Verb(Protocol):
    """The parts of a module in `answerkey.verbs`."""

    __name__: str

    @property
    def ABOUT(self) -> str:
        """One line for `--help`: what the verb does."""

    @property
    def EXAMPLE(self) -> str:
        """Arguments of the example in `--help`."""

    def add_options(self, parser: argparse.ArgumentParser, read_path: ReadPath, /) -> None:
        """Add what it takes. read_path: makes a path of what is written."""

    @property
    def run(self) -> Callable[..., int]:
        """Do it, with the options by their names, and return the exit status."""


VERBS: tuple[Verb, ...] = (  # in the order of `--help`
    explain,
    validate,
    compare,
    repairs,
    verdicts,
    evaluate,
    score,
    init,
    upgrade,
    new,
    choose,
    pin,
    import_corrections,
    correct,
    read,
    completion,
)
# An extra for a package that not every verb needs; `pipeline` has all others.
EXTRAS = {
    "shtab": "completion",
    **dict.fromkeys(("duckdb", "openpyxl", "psycopg", "pymysql"), "convert"),
}


class _Parser(argparse.ArgumentParser):
    """Its errors show no secret of what was written, such as a URL where none is read."""

    def error(self, message: str) -> NoReturn:
        super().error(hide_secrets(message))


def make_parser(read_path: ReadPath = Path) -> argparse.ArgumentParser:
    """The options of all verbs, each with its help and an example. read_path: makes a path of what
    is written."""
    parser = _Parser(
        prog="answerkey",
        description="Execute, audit and curate text-to-SQL gold answers, and score predictions.",
        epilog="example: answerkey evaluate predictions.jsonl",
        allow_abbrev=False,
    )
    with contextlib.suppress(PackageNotFoundError):  # it runs from a folder
        words = f"answerkey {version('answerkey')}"
        parser.add_argument("--version", action="version", version=words, help="print the version")
    parsers = parser.add_subparsers(dest="verb", metavar="VERB")
    for verb in VERBS:
        name = verb.__name__.rpartition(".")[2].replace("_", "-")
        own = parsers.add_parser(
            name,
            help=verb.ABOUT,
            description=f"{verb.ABOUT[0].upper()}{verb.ABOUT[1:]}.",
            epilog=f"example: answerkey {name} {verb.EXAMPLE}".rstrip(),
            allow_abbrev=False,
        )
        own.set_defaults(run=verb.run)
        verb.add_options(own, read_path)
    parsers.choices["completion"].set_defaults(command=parser)
    return parser


def find_project() -> Path | None:
    """The project, or the folder with a dataset, in which one is: this folder or one above."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "params.yaml").is_file() or (folder / DATASET).is_dir():
            return folder
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    with exit_on_error("answerkey"):
        project, here = find_project(), Path.cwd()
        root = project or here
        # Verbs name what the project has by its place there, and users by where they are.
        parser = make_parser(
            Path if root == here else lambda text: Path(os.path.relpath(text, root))
        )
        remember_secrets(*(sys.argv[1:] if arguments is None else arguments))
        options = vars(parser.parse_args(arguments))
        verb = options.pop("verb")
        if verb is None:
            parser.print_help()
            return 0
        run = options.pop("run")
    with exit_on_error(f"answerkey {verb}"), contextlib.chdir(here if verb == "init" else root):
        try:
            status: int = run(**options)
            return status
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            extra = EXTRAS.get(package, "pipeline")
            raise InputError(f"it needs {package}: {explain_install(extra)}") from error
        except (InputError, OSError) as error:
            is_alone = verb in ("init", "correct") or options.get("dataset", DATASET) != DATASET
            if project is None and not is_alone:
                words = f"{here}, and each folder above, has no params.yaml and no {DATASET}"
                error.add_note(f"There is no project: {words}; `answerkey init DIR` makes one")
            raise


if __name__ == "__main__":
    sys.exit(main())
