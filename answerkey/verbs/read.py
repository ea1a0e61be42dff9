"""`answerkey read`: a model reads gold SQL."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from answerkey.verbs.options import ReadPath, read_count, read_number, read_size

ABOUT = "let a model judge gold SQL, with the database open, and write verdicts and corrections"
EXAMPLE = "--name qwen3_32b --count 100 --max-tokens 5000000"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument("--name", required=True, help="of the files that are written")
    parser.add_argument(
        "--count", type=read_count, metavar="N", help="the N riskiest (default: all)"
    )
    parser.add_argument(
        "--question-id", nargs="+", action="extend", default=[], help="these, whatever is known"
    )
    parser.add_argument(
        "--database", nargs="+", action="extend", default=[], help="questions of these alone"
    )
    parser.add_argument("--corpus", help="questions of this entry of corpora alone")
    parser.add_argument(
        "--judged", action="store_true", help="also questions about which there is a verdict"
    )
    parser.add_argument(
        "--max-tokens", type=read_size, metavar="N", help="end the run before it takes more"
    )
    parser.add_argument(
        "--turns",
        type=read_size,
        default=8,
        metavar="N",
        help="replies of the model in a reading; in the last two it cannot query (default:"
        " %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=read_size,
        default=4,
        metavar="N",
        help="readings at the same time (default: %(default)s)",
    )
    parser.add_argument("--template", type=read_path, help="of the prompt (default: the package's)")
    for option, kind, default, about in (
        ("--reply-tokens", read_size, 8192, "of one reply at most"),
        ("--temperature", read_number, None, "of the model (default: the server's)"),
        ("--timeout-s", read_size, 300, "seconds for one reply"),
        ("--attempts", read_size, 6, "for one reply"),
        ("--backoff-s", read_number, 2.0, "seconds to the second attempt, then twice as many"),
    ):
        about += "" if default is None else " (default: %(default)s)"
        parser.add_argument(option, type=kind, default=default, metavar="N", help=about)


def run(
    name: str,
    *,
    question_id: list[str],
    database: list[str],
    corpus: str | None,
    count: int | None,
    judged: bool,
    turns: int,
    max_tokens: int | None,
    workers: int,
    template: Path | None,
    **server: Any,
) -> int:
    from answerkey.reading.run import Choice, read_gold, read_server

    choice = Choice(
        question_ids=tuple(question_id),
        databases=tuple(database),
        corpus=corpus,
        count=count,
        judged=judged,
    )
    print(
        read_gold(
            name,
            choice=choice,
            server=read_server(**server),
            turns=turns,
            max_tokens=max_tokens,
            workers=workers,
            template=template,
        )
    )
    return 0
