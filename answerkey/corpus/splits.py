"""Every question gets the split of its source and an id that no other question can change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import cast

from answerkey.base.errors import InputError
from answerkey.corpus.records import SourceQuestion, SplitQuestion

SPLIT_OF_SOURCE = {"train": "train", "validation": "eval"}


def assign_splits(questions: Iterable[SourceQuestion]) -> list[SplitQuestion]:
    """New records with `question_id` first and `split` last, in the order given.

    >>> [(question["question_id"], question["split"]) for question in assign_splits([
    ...     {"database_name": "car_1", "spider_split": "validation"},
    ...     {"database_name": "car_1", "spider_split": "validation"}])]
    [('car_1_eval_000', 'eval'), ('car_1_eval_001', 'eval')]

    The number is the position among all source questions of that database and split: an id stays
    the same, whatever is excluded later. An `id_prefix` starts the ids of a corpus that asks
    another one's databases, and its questions are counted by themselves. No two questions share an
    id: neither a split nor a number holds an underscore.

    Raises:
        InputError: on an unknown spider_split.
    """
    counts: Counter[tuple[str, str]] = Counter()
    assigned = []
    for question in questions:
        database, source_split = question["database_name"], question["spider_split"]
        if source_split not in SPLIT_OF_SOURCE:
            raise InputError(
                f"spider_split is {source_split!r} for a question of {database}: expected one of"
                f" {tuple(SPLIT_OF_SOURCE)}"
            )
        split = SPLIT_OF_SOURCE[source_split]
        stem = f"{question.get('id_prefix', '')}{database}"
        question_id = f"{stem}_{split}_{counts[stem, split]:03d}"
        counts[stem, split] += 1
        kept = {
            key: value for key, value in question.items() if key not in ("question_id", "id_prefix")
        }
        record = {"question_id": question_id, **kept, "split": split}
        assigned.append(cast("SplitQuestion", record))
    return assigned
