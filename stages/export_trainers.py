"""The product in the formats of trainers, and as a database to browse.

It reads nothing but the product and the databases: whoever has pulled these can run it with a
template of their own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.core.command import run_stage
from answerkey.core.log import start_log
from answerkey.core.params import read_params
from answerkey.core.question import SPLITS
from answerkey.core.records import read_jsonl, write_jsonl
from answerkey.exports import skyrl, trl, verl
from answerkey.exports.openenv import make_reset
from answerkey.exports.parquet_files import lighten_arrow, open_parquet, write_rows
from answerkey.exports.product import read_product
from answerkey.exports.prompts import Exercise, make_exercises, read_template
from answerkey.exports.questions_db import write_questions_db
from answerkey.exports.unless_empty import unless_empty
from answerkey.shards.side_process import open_side_process

if TYPE_CHECKING:
    import pyarrow as pa

PRODUCT = Path("data/questions")
DATABASES = Path("data/databases")
EXPORTS = Path("data/exports")

_GROUP_ROWS = 1000


class Table(NamedTuple):
    """A format that is a Parquet file a split: its folder, its rows and their types."""

    folder: str
    make_row: Callable[[Exercise], dict[str, Any]]
    make_schema: Callable[[], pa.Schema]


TABLES = (
    Table("verl", verl.make_row, verl.make_schema),
    Table("skyrl", skyrl.make_row, skyrl.make_schema),
    Table("trl/prompt_completion", trl.make_prompt_completion, trl.make_prompt_completion_schema),
    Table("trl/messages", trl.make_messages, trl.make_messages_schema),
)
LINES = "openenv"


def make_row(exercise: Exercise) -> dict[str, Any]:
    """The columns of all tables, those of one name once: a prompt is long, and Arrow reads it once
    for all tables that have it."""
    row: dict[str, Any] = {}
    for table in TABLES:
        row |= table.make_row(exercise)
    return row


def make_schema() -> pa.Schema:
    """The types of `make_row`.

    Raises:
        pyarrow.ArrowException: where two tables have a column of one name and different types.
    """
    import pyarrow as pa

    return pa.unify_schemas([table.make_schema() for table in TABLES])


def write_tables(template_path: Path, *, example_rows: int, max_schema_characters: int) -> None:
    """Write every table of every split that has questions."""
    template, schema = read_template(template_path), make_schema()
    for split in SPLITS:
        exercises = unless_empty(
            make_exercises(
                read_product(PRODUCT, split),
                template,
                DATABASES,
                example_rows=example_rows,
                max_schema_characters=max_schema_characters,
            )
        )
        if exercises is None:
            continue
        with ExitStack() as stack:
            files = [
                stack.enter_context(
                    open_parquet(EXPORTS / table.folder / f"{split}.parquet", table.make_schema())
                )
                for table in TABLES
            ]
            write_rows(map(make_row, exercises), files, schema, group_rows=_GROUP_ROWS)


def write_lines(split: str) -> int:
    """Write the lines of a split, in no file where it has no questions; how many there are."""
    questions = unless_empty(read_product(PRODUCT, split))
    if questions is None:
        return 0
    return write_jsonl(EXPORTS / LINES / f"{split}.jsonl", map(make_reset, questions))


def write_database() -> None:
    """Write the database to browse."""
    questions = chain.from_iterable(read_product(PRODUCT, split) for split in SPLITS)
    write_questions_db(EXPORTS / "questions.db", questions, read_jsonl(PRODUCT / "excluded.jsonl"))


def clear_folders() -> None:
    """Leave an empty folder for each format: DVC expects it, with or without files."""
    for name in sorted({table.folder.split("/")[0] for table in TABLES} | {LINES}):
        shutil.rmtree(EXPORTS / name, ignore_errors=True)
        (EXPORTS / name).mkdir(parents=True)


def main() -> None:
    """Write all formats of all splits; the tables in a process of their own beside the rest."""
    log = start_log("export_trainers")
    example_rows, max_schema_characters, template_path = read_params(
        "export_trainers.example_rows",
        "export_trainers.max_schema_characters",
        "export_trainers.prompt_template",
    )
    clear_folders()
    with open_side_process("writes the tables of data/exports", initializer=lighten_arrow) as pool:
        pool.submit(
            write_tables,
            Path(template_path),
            example_rows=example_rows,
            max_schema_characters=max_schema_characters,
        )
        counts = [write_lines(split) for split in SPLITS]
        write_database()
        pool.wait().result()
    log.info(
        "%d questions in %d formats: %s",
        sum(counts),
        len(TABLES) + 2,
        ", ".join(f"{split} {count}" for split, count in zip(SPLITS, counts, strict=True)),
    )


if __name__ == "__main__":
    run_stage(main)
