"""`answerkey new`: a corpus of your own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from answerkey.verbs.options import ReadPath

ABOUT = "make a corpus of a database and a file of questions, and its entry in params.yaml"
EXAMPLE = "data/local/shop --database shop.duckdb --questions questions.csv"


def add_options(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    parser.add_argument("folder", metavar="DIR", type=read_path, help="such as data/local/shop")
    add_sources(parser, read_path)


def add_sources(parser: argparse.ArgumentParser, read_path: ReadPath) -> None:
    """Add the options of what a corpus is made of."""
    parser.add_argument(
        "--database",
        dest="databases",
        action="extend",
        nargs="+",
        default=[],
        metavar="PATH_OR_URL",
        type=lambda text: _read_place(text, read_path),
        help="SQLite, DuckDB, CSV or Parquet, a dump of Postgres, or the URL of Postgres or MySQL;"
        " NAME=PATH names it (default: what lies in DIR)",
    )
    parser.add_argument(
        "--questions",
        type=read_path,
        help="JSON, JSON Lines, CSV or Excel (default: what lies in DIR)",
    )
    parser.add_argument(
        "--engine",
        help="of the corpus's database: its own, duckdb or postgres, or sqlite, which converts it",
    )
    parser.add_argument(
        "--dialect", help="of gold SQL, such as postgres (default: that of the database)"
    )
    parser.add_argument(
        "--types",
        action="extend",
        nargs="+",
        default=[],
        metavar="TABLE.COLUMN=TYPE",
        help="of columns of CSV and TSV: TEXT, INTEGER, REAL, BOOLEAN, DATE, TIME or DATETIME, such"
        " as bills.code=TEXT or bills.due=DATE:%%d/%%m/%%Y (default: guessed from the values)",
    )
    parser.add_argument(
        "--now",
        metavar="DATE",
        help="what date('now'), CURRENT_DATE and the like mean, such as 2025-01-30",
    )


def _read_place(text: str, read_path: ReadPath) -> str:
    """A path from where the user is, perhaps behind a name; a URL as it is."""
    if "://" in text:
        return text
    name, mark, path = text.rpartition("=") if not Path(text).exists() else ("", "", text)
    return f"{name}{mark}{read_path(path)}"


def run(folder: Path, **options: Any) -> int:
    from answerkey.intake.new_corpus import make_corpus

    print(make_corpus(folder, **options))
    return 0
