"""The product as a dataset of the Hugging Face hub, which trains by itself: questions with prompts,
the databases and those of test suites, a card, and Croissant metadata.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # this checkout, whichever is installed

from answerkey.command_line import run_stage
from answerkey.dataset import read_product
from answerkey.exports.card import (
    CardFacts,
    describe_origin,
    list_targets,
    make_benchmark,
    make_card,
)
from answerkey.exports.croissant import make_croissant
from answerkey.exports.huggingface import read_examples, write_split
from answerkey.exports.packed_files import DATABASES, TEST_SUITES, write_packed_files
from answerkey.exports.parquet_files import WrittenFile
from answerkey.log import format_size, start_log
from answerkey.params import read_params
from answerkey.records import SPLITS, read_json, replace_file, write_json

PRODUCT = Path("data/questions")
FOLDERS = {DATABASES: Path("data/databases"), TEST_SUITES: Path("data/test_suites")}
CORPORA = PRODUCT / "corpora.json"
COUNTS = Path("metrics/counts.json")
PROMPTS = Path("data/exports/trl/prompt_completion")  # as export_trainers rendered them
OUT = Path("data/exports/huggingface")


def write_questions() -> dict[str, WrittenFile]:
    """Write a table for each split that has questions; what was written."""
    written = {}
    for split in SPLITS:
        examples = read_examples(read_product(PRODUCT, split), PROMPTS / f"{split}.parquet")
        written[split] = write_split(examples, OUT / f"{split}.parquet")
    return {split: file for split, file in written.items() if file}


def list_values(corpora: Mapping[str, Mapping[str, Any]], key: str) -> tuple[str, ...]:
    """What the corpora say under a key, each once, where they say it."""
    return tuple(dict.fromkeys(corpus[key] for corpus in corpora.values() if corpus[key]))


def main() -> None:
    """Write the tables, and what describes them."""
    log = start_log("export_huggingface")
    hub, selection = read_params("export_huggingface", "select_questions")
    targets = asdict(selection.targets)
    shutil.rmtree(OUT, ignore_errors=True)
    manifest = read_json(FOLDERS[DATABASES] / "manifest.json")["databases"]
    corpora = read_json(CORPORA)
    facts = CardFacts(
        licenses={name: corpus["license"] for name, corpus in corpora.items()},
        origin=tuple(describe_origin(corpora, manifest)),
        files=write_questions(),
        packed=write_packed_files(PRODUCT, FOLDERS, OUT, max_bytes=hub.max_packed_bytes),
        metrics=read_json(COUNTS),
        targets=list_targets(targets, max_per_canonical_sql=selection.max_per_canonical_sql),
        languages=list_values(corpora, "language"),
        citations=list_values(corpora, "citation"),
        repo_id=hub.repo_id,
        version=hub.version,
        date_published=hub.date_published,
    )
    write_json(OUT / "croissant.json", make_croissant(facts))
    with replace_file(OUT / "README.md") as file:
        file.write(make_card(facts).encode())
    if "eval" in facts.files:
        (OUT / "eval.yaml").write_text(make_benchmark(), encoding="utf-8")
    size = sum(path.stat().st_size for path in OUT.iterdir())
    log.info("%d questions in %d tables, %s", facts.size, len(facts.tables), format_size(size))


if __name__ == "__main__":
    run_stage(main)
