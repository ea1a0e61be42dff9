"""Find questions of eval that repeat a question of train, on a database that is in both splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from answerkey.base.records import EVAL, Finding

if TYPE_CHECKING:
    from answerkey.comparison.compare import Fingerprint, Nearest

Fields = tuple[str, ...]
FindNearest = Callable[[list[str], list[str]], Iterator["Nearest | None"]]

# Ways in which a question of eval repeats one of train, the strongest first: the kind of the
# finding, and the field of a fingerprint that is equal.
_SHARED = {"question": "text", "sql": "canonical_sql", "constants": "query"}
# Two questions with similar texts must have one of these in common, or they are not compared.
_SHARED_BY_NEAR = ("template", "answer")
WORDING = "wording"


def find_seen_in_train(
    of_database: list[Fingerprint], find_nearest: FindNearest
) -> Iterator[tuple[str, Finding]]:
    """Yield each question of eval that repeats a question of train of the same database. The
    finding names the way, the first such question, and how many there are.

    find_nearest: returns the most similar of the other texts for each text. Only questions with the
        same template or the same answer are compared: a question for the shortest and one for the
        longest have similar words, too.
    """
    held_out = [record for record in of_database if record.split == EVAL]
    train = [record for record in of_database if record.split != EVAL]
    if not held_out or not train:
        return
    known = _group(train, [(field,) for field in _SHARED.values()])
    unseen = []
    for record in held_out:
        for kind, field in _SHARED.items():
            if others := known.get(((field, getattr(record, field)),)):
                evidence = {"kind": kind, "example": others[0].question_id, "count": len(others)}
                yield record.question_id, Finding("seen_in_train", evidence)
                break
        else:
            unseen.append(record)
    yield from _find_near(unseen, train, find_nearest)


def _find_near(
    held_out: list[Fingerprint], train: list[Fingerprint], find_nearest: FindNearest
) -> Iterator[tuple[str, Finding]]:
    """Yield each question with a text similar to one of train, and the most similar one. Questions
    that share both fields are in two groups, and are counted once."""
    template, answer = ((field,) for field in _SHARED_BY_NEAR)
    both = template + answer
    nearest_by_fields: dict[tuple[Fields, str], tuple[Nearest, str]] = {}
    known = _group(train, [template, answer, both])
    for shared, own in _group(held_out, [template, answer, both]).items():
        others = known.get(shared, [])
        texts, of_others = ([record.text for record in side] for side in (own, others))
        fields = tuple(field for field, _ in shared)
        for record, nearest in zip(own, find_nearest(texts, of_others), strict=True):
            if nearest is not None:
                example = others[nearest.place].question_id
                nearest_by_fields[fields, record.question_id] = nearest, example
    for record in held_out:
        near = [
            pair
            for of in (template, answer)
            if (pair := nearest_by_fields.get((of, record.question_id)))
        ]
        if near:
            _, example = max(near, key=lambda pair: pair[0].similarity)
            count = sum(nearest.near for nearest, _ in near)
            if (twice := nearest_by_fields.get((both, record.question_id))) is not None:
                count -= twice[0].near
            evidence = {"kind": WORDING, "example": example, "count": count}
            yield record.question_id, Finding("seen_in_train", evidence)


def _group(
    records: list[Fingerprint], fields_of: list[Fields]
) -> dict[tuple[tuple[str, str], ...], list[Fingerprint]]:
    """Group the records by the values of some fields, none of which is empty."""
    groups = defaultdict(list)
    for record in records:
        for fields in fields_of:
            values = tuple((field, getattr(record, field)) for field in fields)
            if all(value for _, value in values):
                groups[values].append(record)
    return groups
