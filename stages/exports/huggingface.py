"""The product as a Hugging Face dataset: a Parquet file a split, and a card that describes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from stages.question import SPLITS
from stages.records import replace_file

Record = dict[str, Any]

_ROWS_PER_GROUP = 5000
_TEXT_COLUMNS = (
    "question_id",
    "question_text",
    "database_name",
    "gold_sql",
    "gold_answer",
    "answer_type",
    "difficulty",
)
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def make_row(question: Record, audit: Record) -> Record:
    """A row of the table: the nine fields with gold_answer as JSON text, since a column has one
    type, and what the sidecar knows of the question.

    >>> question = {"question_id": "a_train_000", "gold_answer": [["x", 1]], "split": "train"}
    >>> audit = {"hardness": "easy", "order_matters": False, "flags": [{"code": "guessable"}]}
    >>> make_row(question, audit)["gold_answer"], make_row(question, audit)["flags"]
    ('[["x", 1]]', ['guessable'])
    """
    return {
        **question,
        "gold_answer": json.dumps(question["gold_answer"], ensure_ascii=False, allow_nan=False),
        "hardness": audit["hardness"],
        "order_matters": audit["order_matters"],
        "flags": [flag["code"] for flag in audit["flags"]],
    }


def write_parquet(path: Path, rows: Iterable[Record]) -> int:
    """Write rows of `make_row`; how many. The same rows give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        [(name, pa.string()) for name in _TEXT_COLUMNS]
        + [("tables_involved", pa.list_(pa.string())), ("split", pa.string())]
        + [("hardness", pa.string()), ("order_matters", pa.bool_())]
        + [("flags", pa.list_(pa.string()))]
    )
    count = 0
    with replace_file(path) as file, pq.ParquetWriter(file, schema) as writer:
        for batch in _batch(rows):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _batch(rows: Iterable[Record]) -> Iterator[list[Record]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _ROWS_PER_GROUP)):
        yield batch


def write_card(
    path: Path, *, counts: dict[str, int], corpus: str, excluded: dict[str, int]
) -> None:
    """Write the dataset card: YAML that says where the splits are, then the numbers of this run.

    A split without questions is left out: load_dataset fails where one has no rows.
    """
    total = sum(counts.values())
    filled = [split for split in SPLITS if counts[split]]
    size = next((name for limit, name in _SIZES if total < limit), "n>1M")
    lines = [
        "---",
        "pretty_name: Answerkey",
        "task_categories:",
        "- text-generation",
        "tags:",
        "- text-to-sql",
        "- reinforcement-learning",
        "language:",
        "- en",
        "size_categories:",
        f"- {size}",
    ]
    if filled:
        lines += ["configs:", "- config_name: default", "  data_files:"]
    for split in filled:
        lines += [f"  - split: {split}", f"    path: {split}.parquet"]
    lines += [
        "---",
        "",
        "# Text-to-SQL questions with executed gold answers",
        "",
        f"{total} questions of the corpus `{corpus}`: "
        + ", ".join(f"{counts[split]} {split}" for split in SPLITS)
        + ". Every gold answer was executed, audited and validated; `gold_answer` is JSON text.",
        "",
        "Left out, by reason:",
        "",
        "| reason | questions |",
        "|---|---|",
        *(f"| {reason} | {count} |" for reason, count in excluded.items()),
        "",
    ]
    with replace_file(path) as file:
        file.write("\n".join(lines).encode())
