"""`answerkey correct`: a corpus with its corrections applied, for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from answerkey.base.errors import InputError
from answerkey.verbs.options import ReadPath

ABOUT = "copy a folder of Spider, BIRD or the like with corrections applied, for any other tool"
EXAMPLE = "data/local/spider data/local/spider_corrected --corrections spider"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=read_path, help="which is only read")
    parser.add_argument("out", metavar="OUT", type=read_path, help="a new or an empty folder")
    parser.add_argument(
        "--corrections",
        required=True,
        metavar="NAME_OR_FILE",
        type=lambda text: read_path(text) if {"/", "."} & {*text} else text,
        help="a list: its name in data/corrections, or its file",
    )
    parser.add_argument(
        "--layout",
        metavar="NAME",
        help="of the files of questions: own, spider, spider_syn, bird or synsql (default: that"
        " whose fields the first row of each file has)",
    )
    parser.add_argument(
        "--without-databases", action="store_true", help="leave out the folders of databases"
    )


def run(folder: Path, out: Path, **options: Any) -> int:
    from answerkey.corpus.corrected_copy import correct_folder

    try:
        correct_folder(folder, out, **options)
    except OSError as error:  # `dvc repro` mends none of these
        raise InputError(f"{error.filename or out}: {error.strerror or error}") from error
    return 0
