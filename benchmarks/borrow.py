"""Borrow what a stage found in a small corpus for a large one, in place of running it there.

    python borrow.py STAGE SMALL LARGE

SMALL and LARGE are the folders data/interim of runs on two corpora of scale_corpus.py; in SMALL the
stage has run. The same question of two copies of a database has the same SQL on the same schema,
so that parse_gold_sql says the same of both. The audit may differ by the one value in which copies
do: that is good enough to measure what comes after it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

PARSE, AUDIT = "parse_gold_sql", "audit_gold_answers"

Record = dict[str, Any]


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file, one a line."""
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_records(path: Path, records: Iterator[Record]) -> None:
    """Write one record a line."""
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def find_original(question_id: str) -> tuple[str, str]:
    """The database of the sample and the number of a question: the same for all its copies.

    >>> find_original("wind_power_00017_eval_004")
    ('wind_power', '004')
    """
    name, _, number = question_id.rsplit("_", 2)
    return name.rpartition("_")[0], number


def borrow(found: Iterator[Record], asked: Iterator[str]) -> Iterator[Record]:
    """A record for each id: that of some copy of the question."""
    by_original = {find_original(record["question_id"]): record for record in found}
    for question_id in asked:
        yield {**by_original[find_original(question_id)], "question_id": question_id}


def borrow_parse(small: Path, large: Path) -> None:
    """Write parsed.jsonl."""
    asked = (record["question_id"] for record in read_records(large / "splits.jsonl"))
    write_records(large / "parsed.jsonl", borrow(read_records(small / "parsed.jsonl"), asked))


def borrow_audit(small: Path, large: Path) -> None:
    """Write the shards of the audit. A question that has an answer in LARGE only has no flag."""
    quiet = {"flags": [], "order_matters": False}
    by_original = {
        find_original(record["question_id"]): {"question_id": record["question_id"], **quiet}
        for record in read_records(small / "splits.jsonl")
    }
    for path in (small / "audit").iterdir():
        by_original |= {find_original(r["question_id"]): r for r in read_records(path)}
    sources = read_records(large / "splits.jsonl")
    for name, _ in groupby(sources, key=itemgetter("database_name")):
        answers = read_records(large / "gold_answers" / f"{name}.jsonl")
        asked = (record["question_id"] for record in answers if "reason" not in record)
        write_records(large / "audit" / f"{name}.jsonl", borrow(iter(by_original.values()), asked))


def main() -> None:
    stage, small, large = sys.argv[1:]
    {PARSE: borrow_parse, AUDIT: borrow_audit}[stage](Path(small), Path(large))


if __name__ == "__main__":
    main()
