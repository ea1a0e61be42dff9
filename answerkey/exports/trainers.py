"""The formats of trainers: each has a folder, in which it has a file a split."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from jinja2 import Template

from answerkey.dataset import read_product
from answerkey.exports import rows
from answerkey.exports.openenv import write_resets
from answerkey.exports.parquet_files import Table, write_tables
from answerkey.exports.prompt_lengths import PromptLengths
from answerkey.exports.prompts import make_prompt_examples
from answerkey.records import SPLITS

# Formats that are a Parquet file a split, by their folders.
TABLES: dict[str, Table] = {
    "verl": rows.VERL,
    "skyrl": rows.SKYRL,
    "trl/prompt_completion": rows.PROMPT_COMPLETION,
    "trl/messages": rows.MESSAGES,
}
OPENENV = "openenv"


def clear_folders(exports: Path) -> None:
    """Leave an empty folder for each format: DVC expects it, with or without files."""
    for name in sorted({folder.split("/")[0] for folder in TABLES} | {OPENENV}):
        shutil.rmtree(exports / name, ignore_errors=True)
        (exports / name).mkdir(parents=True)


def write_formats(
    product: Path,
    databases: Path,
    exports: Path,
    template: Template,
    lengths: PromptLengths,
    **options: Any,
) -> dict[str, int]:
    """Write every format of every split that has questions, and measure their prompts; by split,
    how many those are. Options are those of `make_prompt_examples`.

    Raises:
        FileNotFoundError, InputError: as `read_product` and `make_prompt_examples`.
    """
    counts = {}
    for split in SPLITS:
        examples = make_prompt_examples(
            read_product(product, split),
            template,
            databases,
            **options,
        )
        paths = {exports / name / f"{split}.parquet": table for name, table in TABLES.items()}
        write_tables(lengths.watch(examples), paths)
        lines = exports / OPENENV / f"{split}.jsonl"
        counts[split] = write_resets(lines, read_product(product, split))
    return counts
