"""Give every question a split, and an id that other questions cannot change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

from answerkey.base.errors import InputError
from answerkey.base.records import EVAL, TRAIN
from answerkey.corpus.records import SourceQuestion, SplitQuestion
from answerkey.sections.corpora import SplitRule

SPLIT_OF_SOURCE = {"train": TRAIN, "validation": EVAL}


def assign_splits(
    questions: Iterable[SourceQuestion], *, splits: Iterable[str] | None = None
) -> list[SplitQuestion]:
    """Return new records with `question_id` first and `split` last, in the order given.

    >>> [(question["question_id"], question["split"]) for question in assign_splits([
    ...     {"database_name": "car_1", "spider_split": "validation"},
    ...     {"database_name": "car_1", "spider_split": "validation"}])]
    [('car_1_eval_000', 'eval'), ('car_1_eval_001', 'eval')]

    The number is the index among all source questions of that database and split: an id stays the
    same, whatever is excluded later. The ids of a corpus that uses another one's databases begin
    with `id_prefix`, and its questions are counted separately. No two questions share an id:
    neither a split nor a number contains an underscore.

    splits: from `answerkey.corpus.split_rules.choose_splits`; None: those of the source.

    Raises:
        InputError: the spider_split is unknown.
    """
    questions = list(questions)
    counts: Counter[tuple[str, str]] = Counter()
    assigned = []
    for question, split in zip(questions, splits or map(read_split, questions), strict=True):
        stem = f"{question.get('id_prefix', '')}{question['database_name']}"
        question_id = f"{stem}_{split}_{counts[stem, split]:03d}"
        counts[stem, split] += 1
        kept = {
            key: value for key, value in question.items() if key not in ("question_id", "id_prefix")
        }
        record = {"question_id": question_id, **kept, "split": split}
        assigned.append(cast("SplitQuestion", record))
    return assigned


def read_split(question: SourceQuestion) -> str:
    """Return the split of its source, by our name."""
    source_split = question["spider_split"]
    if source_split not in SPLIT_OF_SOURCE:
        raise InputError(
            f"spider_split is {source_split!r} for a question of {question['database_name']}:"
            f" expected one of {tuple(SPLIT_OF_SOURCE)}"
        )
    return SPLIT_OF_SOURCE[source_split]


def refuse_crossing(
    questions: Iterable[SourceQuestion], splits: Iterable[str], rules: Mapping[str, SplitRule]
) -> None:
    """Check that no database is in two splits, except for corpora whose rule allows it.

    Raises:
        InputError: names the first question that crosses, and the key that would allow it.
    """
    known: dict[str, str] = {}
    for question, split in zip(questions, splits, strict=True):
        name, source = question["database_name"], question["source"]
        rule = rules.get(source["corpus"])
        if known.setdefault(name, split) != split and not (rule and rule.lets_databases_cross):
            both, key = sorted((known[name], split)), f"corpora.{source['corpus']}.split"
            raise InputError(
                f"Database {name} has questions in both {' and '.join(both)}"
                f" (see row {source['index']} of {source['file']} of corpus {source['corpus']}):"
                f" expected one split for each database, or {key}: {{by: source}}, which keeps both"
                f" splits as they are, or {key}: {{by: query}}, which makes others of all questions"
            )
