"""Probes across the splits: questions of train that questions of eval repeat, in text or template.

Leaks are looked for between the splits only: within one, a text or template that comes again in
another database is no fault.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from answerkey.comparison.set_records import SetRecord, sort_key
from answerkey.comparison.similar_texts import MIN_SIMILARITY, Near, choose_nearest, find_similar
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.core.question import EVAL

if TYPE_CHECKING:
    import pandas as pd

_TEMPLATE_CHARACTERS = 200  # that evidence shows

Findings = dict[str, list[Finding]]


def find_across_splits(table: pd.DataFrame, *, min_similarity: float = MIN_SIMILARITY) -> Findings:
    """{question_id: [Finding, ...]}: what questions share with those of the other split.

    `table` has a row for each SetRecord. Nearly equal texts are looked for among questions of one
    template.
    """
    near: Findings = defaultdict(list)
    same: Findings = defaultdict(list)
    for train, held_out in _list_shared(table, "text"):
        _add_shared(same, train, held_out, Flag.QUESTION_IN_BOTH_SPLITS, {})
    for train, held_out in _list_shared(table, "template"):
        template = {"template": train[0].template[:_TEMPLATE_CHARACTERS]}
        _add_shared(same, train, held_out, Flag.TEMPLATE_IN_BOTH_SPLITS, template)
        _add_near(near, train, held_out, min_similarity)
    return {
        question_id: near.get(question_id, []) + same.get(question_id, [])
        for question_id in near.keys() | same.keys()
    }


def _list_shared(table: pd.DataFrame, column: str) -> list[tuple[list[SetRecord], list[SetRecord]]]:
    """The train and the eval questions of each value of a column that both splits have; '' is
    none."""
    known = table[table[column] != ""]
    is_eval = known["split"] == EVAL
    shared = set(known.loc[is_eval, column]).intersection(known.loc[~is_eval, column])
    known = known[known[column].isin(shared)]
    sides: dict[str, tuple[list[SetRecord], list[SetRecord]]] = {
        value: ([], []) for value in known[column]
    }
    for record in map(SetRecord._make, known.itertuples(index=False, name=None)):
        sides[getattr(record, column)][record.split == EVAL].append(record)
    return list(sides.values())


def _add_shared(
    findings: Findings,
    train: list[SetRecord],
    held_out: list[SetRecord],
    code: Flag,
    shared: dict[str, Any],
) -> None:
    """A finding for each question, with how many of the other split share it, and the first."""
    for records, others in ((train, held_out), (held_out, train)):
        first = min((other.question_id for other in others), key=sort_key)
        evidence = {**shared, "count": len(others), "example": first}
        for record in records:
            findings[record.question_id].append(Finding(code, evidence))


def _add_near(
    findings: Findings, train: list[SetRecord], held_out: list[SetRecord], min_similarity: float
) -> None:
    """A finding for each question whose text is nearly that of one of the other split, with the
    nearest of them."""
    nearest: dict[str, Near] = {}
    texts = [record.text for record in held_out]
    for record in train:
        for place, similarity in find_similar(record.text, texts, min_similarity):
            other = held_out[place]
            for one, two in ((record, other), (other, record)):
                found = Near(two.question_id, similarity)
                nearest[one.question_id] = choose_nearest(nearest.get(one.question_id), found)
    for question_id, near in nearest.items():
        evidence = {"other": near.question_id, "similarity": near.similarity}
        findings[question_id].append(Finding(Flag.NEAR_DUPLICATE_QUESTION, evidence))
