"""What several verbs take: paths, numbers in their bounds, a dataset."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path

from answerkey.base.paths import PRODUCT

# Makes a path of what is written: users name files from where they are, verbs from the project.
ReadPath = Callable[[str], Path]
DATASET = PRODUCT.as_posix()


def read_count(text: str) -> int:
    """Return a whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, found {text!r}")
    return int(text)


def read_size(text: str) -> int:
    """Return a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, found {text!r}")
    return int(text)


def read_number(text: str) -> float:
    """Return a number from 0."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) < float("inf"):
            return value
    raise argparse.ArgumentTypeError(f"expected a number from 0, found {text!r}")


def read_share(text: str) -> float:
    """Return a share from 0 to 1."""
    with contextlib.suppress(ValueError):
        if 0 <= (value := float(text)) <= 1:
            return value
    raise argparse.ArgumentTypeError(f"expected a share from 0 to 1, such as 0.7, found {text!r}")


def add_dataset(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    """Add the options of a dataset whose answers predictions are compared with, and how."""
    parser.add_argument(
        "--dataset",
        default=DATASET,
        type=lambda text: str(read_path(text)) if Path(text).exists() else text,
        help="a folder of the product, a checkout, a Hugging Face export or a name on its hub"
        " (default: %(default)s)",
    )
    parser.add_argument(
        "--databases", type=read_path, help="the folder of the databases (default: the dataset's)"
    )
    suites = parser.add_mutually_exclusive_group()
    suites.add_argument(
        "--test-suites",
        type=read_path,
        help="the folder of the suites' databases (default: the dataset's)",
    )
    suites.add_argument(
        "--no-test-suites",
        dest="use_suites",
        action="store_false",
        help="try predictions on the real databases alone",
    )
    parser.add_argument("--rule", help="of comparison, such as strict, spider or bird")
    parser.add_argument("--source-file", help="whose order the predictions have, as dev.json")
    parser.add_argument(
        "--workers", type=int, help="how many processes (default: one a core, to 8)"
    )
