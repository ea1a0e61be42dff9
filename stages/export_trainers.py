"""The product in the formats of trainers, and as a database to browse.

It reads nothing but the product and the databases: whoever has pulled these can run it with a
template of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stages.exports import skyrl, trl, verl
from stages.exports.openenv import make_reset
from stages.exports.parquet_files import open_parquet, take_batches
from stages.exports.product import read_product
from stages.exports.prompts import Exercise, make_exercises, read_template
from stages.exports.questions_db import write_questions_db
from stages.log import start_log
from stages.params import read_params
from stages.question import SPLITS
from stages.records import encode_json, read_jsonl, replace_file

if TYPE_CHECKING:
    import pyarrow as pa

PRODUCT = Path("data/questions")
DATABASES = Path("data/databases")
EXPORTS = Path("data/exports")

_BATCH_ROWS = 1000


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


def write_split(split: str, exercises: Iterator[Exercise], folder: Path) -> int:
    """Write every format of a split, reading its exercises once; how many there were. A split
    without exercises has no files: readers fail on one without rows."""
    first = next(exercises, None)
    if first is None:
        return 0
    count = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context(
                open_parquet(folder / table.folder / f"{split}.parquet", table.make_schema())
            )
            for table in TABLES
        ]
        lines = stack.enter_context(replace_file(folder / LINES / f"{split}.jsonl"))
        for batch in take_batches(chain([first], exercises), _BATCH_ROWS):
            for table, file in zip(TABLES, files, strict=True):
                file.write([table.make_row(exercise) for exercise in batch])
            lines.writelines(encode_json(make_reset(exercise)) + b"\n" for exercise in batch)
            count += len(batch)
    return count


def write_formats(
    template_path: Path, *, example_rows: int, max_schema_characters: int
) -> list[int]:
    """Write every format of every split; how many questions each split has."""
    template = read_template(template_path)
    for name in sorted({table.folder.split("/")[0] for table in TABLES} | {LINES}):
        shutil.rmtree(EXPORTS / name, ignore_errors=True)
        (EXPORTS / name).mkdir(parents=True)  # DVC expects it, with or without files
    return [
        write_split(
            split,
            make_exercises(
                read_product(PRODUCT, split),
                template,
                DATABASES,
                example_rows=example_rows,
                max_schema_characters=max_schema_characters,
            ),
            EXPORTS,
        )
        for split in SPLITS
    ]


def write_database() -> None:
    """Write the database to browse."""
    questions = chain.from_iterable(read_product(PRODUCT, split) for split in SPLITS)
    write_questions_db(EXPORTS / "questions.db", questions, read_jsonl(PRODUCT / "excluded.jsonl"))


def main() -> None:
    """Write all formats of all splits, and the database beside them in a process of its own."""
    log = start_log("export_trainers")
    example_rows, max_schema_characters, template_path = read_params(
        "export_trainers.example_rows",
        "export_trainers.max_schema_characters",
        "export_trainers.prompt_template",
    )
    with ProcessPoolExecutor(1) as pool:
        database = pool.submit(write_database)
        counts = write_formats(
            Path(template_path),
            example_rows=example_rows,
            max_schema_characters=max_schema_characters,
        )
        database.result()
    log.info(
        "%d questions in %d formats: %s",
        sum(counts),
        len(TABLES) + 2,
        ", ".join(f"{split} {count}" for split, count in zip(SPLITS, counts, strict=True)),
    )


if __name__ == "__main__":
    main()
