"""The command `answerkey`."""

from __future__ import annotations

import argparse

from answerkey import evaluate
from answerkey.errors import let_reader_leave


def main() -> int:
    """Run the subcommand that is named; its exit status."""
    parser = argparse.ArgumentParser(prog="answerkey", description="Text-to-SQL with sound answers")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("evaluate", help="how many predictions are right")
    evaluate.add_arguments(command)
    command.set_defaults(run=evaluate.run)
    with let_reader_leave():
        arguments = parser.parse_args()
        return arguments.run(arguments)


if __name__ == "__main__":
    raise SystemExit(main())
