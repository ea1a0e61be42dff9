"""Every question gets the split of its source and an id that no other question can change."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from stages.log import start_log
from stages.records import read_jsonl, write_jsonl

QUESTIONS_PATH = Path("data/interim/questions.jsonl")
SPLITS_PATH = Path("data/interim/splits.jsonl")

SPLIT_OF_SOURCE = {"train": "train", "validation": "eval"}


def assign_splits(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """New records with `question_id` first and `split` last, in the order given.

    >>> [(question["question_id"], question["split"]) for question in assign_splits([
    ...     {"database_name": "car_1", "spider_split": "validation"},
    ...     {"database_name": "car_1", "spider_split": "validation"}])]
    [('car_1_eval_000', 'eval'), ('car_1_eval_001', 'eval')]

    The number is the position among all source questions of that database and split: an id stays
    what it is, whatever is excluded later.

    Raises:
        ValueError: on an unknown spider_split, or an id that two questions would share.
    """
    counts: Counter[tuple[str, str]] = Counter()
    ids: set[str] = set()
    assigned = []
    for question in questions:
        database, source_split = question["database_name"], question["spider_split"]
        if source_split not in SPLIT_OF_SOURCE:
            raise ValueError(
                f"spider_split is {source_split!r} for a question of {database}: expected one of"
                f" {tuple(SPLIT_OF_SOURCE)}"
            )
        split = SPLIT_OF_SOURCE[source_split]
        question_id = f"{database}_{split}_{counts[database, split]:03d}"
        if question_id in ids:
            raise ValueError(f"Two questions would share the id {question_id}")
        ids.add(question_id)
        counts[database, split] += 1
        first, last = {"question_id": question_id}, {"split": split}
        assigned.append(first | question | first | last)
    return assigned


def main() -> None:
    log = start_log("assign_splits")
    assigned = assign_splits(list(read_jsonl(QUESTIONS_PATH)))
    write_jsonl(SPLITS_PATH, assigned)
    counts = Counter(question["split"] for question in assigned)
    log.info(f"{len(assigned)} questions: {counts['train']} train, {counts['eval']} eval")


if __name__ == "__main__":
    main()
