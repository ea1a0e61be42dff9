"""What was selected and found good is written: the product, sidecars, exports, metrics, plots."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stages.dossier import read_dossiers
from stages.exports.huggingface import make_row, write_card, write_parquet
from stages.exports.statistics import describe_question, make_metrics, make_plots, tabulate
from stages.log import start_log
from stages.params import read_params
from stages.question import SPLITS
from stages.reasons import Flag
from stages.records import encode_json, read_jsonl, replace_file, write_json, write_jsonl

INTERIM = Path("data/interim")
SELECTION = INTERIM / "selection"
VALIDATION = INTERIM / "validation.json"
PRODUCT = Path("data/questions")
HUGGINGFACE = Path("data/exports/huggingface")
METRICS = Path("metrics/dataset.json")
PLOTS = Path("plots")

Record = dict[str, Any]


def read_split(split: str) -> Iterator[Record]:
    """The selected questions of a split."""
    return (q for q in read_jsonl(SELECTION / "questions.jsonl") if q["split"] == split)


def write_questions(path: Path, questions: Iterator[Record]) -> int:
    """Write a JSON array, one question a line; how many."""
    count = 0
    with replace_file(path) as file:
        file.write(b"[")
        for question in questions:
            file.write((b",\n" if count else b"\n") + encode_json(question))
            count += 1
        file.write(b"\n]\n")
    return count


def read_rows(split: str) -> Iterator[Record]:
    """The rows of the table of a split: each selected question with its audit."""
    questions = read_jsonl(SELECTION / "questions.jsonl")
    audits = read_jsonl(SELECTION / "audit.jsonl")
    for question, audit in zip(questions, audits, strict=True):
        if question["question_id"] != audit["question_id"]:
            raise LookupError(f"audit.jsonl is out of step at {question['question_id']}")
        if question["split"] == split:
            yield make_row(question, audit)


def count_flags() -> dict[str, int]:
    """How many selected questions carry each flag."""
    found = Counter(
        flag["code"] for audit in read_jsonl(SELECTION / "audit.jsonl") for flag in audit["flags"]
    )
    return {flag: found[flag] for flag in Flag}


def main() -> None:
    """Write everything that teammates and trainers take."""
    log = start_log("export_dataset")
    (corpus,) = read_params("corpus")
    errors = json.loads(VALIDATION.read_text(encoding="utf-8"))["errors"]
    if errors:
        raise ValueError(f"{VALIDATION} lists {len(errors)} errors: expected none")
    counts = {
        split: write_questions(PRODUCT / f"questions_{split}.json", read_split(split))
        for split in SPLITS
    }
    for name in ("audit.jsonl", "excluded.jsonl"):
        write_jsonl(PRODUCT / name, read_jsonl(SELECTION / name))
    reasons = {
        record["question_id"]: record["reason"]
        for record in read_jsonl(SELECTION / "excluded.jsonl")
    }
    questions = tabulate(
        describe_question(dossier, reasons.get(dossier.question_id)) for dossier in read_dossiers()
    )
    summary = json.loads((SELECTION / "summary.json").read_text(encoding="utf-8"))
    metrics = make_metrics(questions, count_flags(), summary)
    write_json(METRICS, metrics)
    for name, table in make_plots(questions).items():
        with replace_file(PLOTS / f"{name}.csv") as file:
            file.write(table.to_csv(index=False, lineterminator="\n").encode())
    shutil.rmtree(HUGGINGFACE, ignore_errors=True)
    for split in filter(counts.get, SPLITS):
        write_parquet(HUGGINGFACE / f"{split}.parquet", read_rows(split))
    write_card(
        HUGGINGFACE / "README.md",
        counts=counts,
        corpus=corpus,
        excluded={reason: count for reason, count in metrics["excluded"].items() if count},
    )
    log.info(
        "%d questions: %s",
        sum(counts.values()),
        ", ".join(f"{split} {count}" for split, count in counts.items()),
    )


if __name__ == "__main__":
    main()
