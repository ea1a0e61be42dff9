"""Questions of eval that train answers on their own database, which is in both splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from answerkey.base.records import EVAL, Finding

if TYPE_CHECKING:
    from answerkey.comparison.compare import Fingerprint, Nearest

Fields = tuple[str, ...]
FindNearest = Callable[[list[str], list[str]], Iterator["Nearest | None"]]

# What a question of train has in common with one of eval, the strongest first: the kind of a
# finding, and the field of a fingerprint.
_SHARED = {"question": "text", "sql": "canonical_sql", "constants": "query"}
# What two questions need in common for nearly one text to say that they ask the same.
_SHARED_BY_NEAR = ("template", "answer")
WORDING = "wording"


def find_seen_in_train(
    of_database: list[Fingerprint], find_nearest: FindNearest
) -> Iterator[tuple[str, Finding]]:
    """Each question of eval that repeats one of train of the same database, with how, with the
    first such question, and with how many there are.

    find_nearest: gives what is nearest to each of some texts among others. Only questions of one
        template or one answer are compared: those for the shortest and for the longest of something
        are nearly the same words as well.
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
    """Each question whose text is nearly that of one of train, with the nearest. What both fields
    share is in the groups of each, and counted once."""
    template, answer = ((field,) for field in _SHARED_BY_NEAR)
    both = template + answer
    found: dict[tuple[Fields, str], tuple[Nearest, str]] = {}
    known = _group(train, [template, answer, both])
    for shared, own in _group(held_out, [template, answer, both]).items():
        others = known.get(shared, [])
        texts, of_others = ([record.text for record in side] for side in (own, others))
        fields = tuple(field for field, _ in shared)
        for record, nearest in zip(own, find_nearest(texts, of_others), strict=True):
            if nearest is not None:
                example = others[nearest.place].question_id
                found[fields, record.question_id] = nearest, example
    for record in held_out:
        near = [pair for of in (template, answer) if (pair := found.get((of, record.question_id)))]
        if near:
            _, example = max(near, key=lambda pair: pair[0].similarity)
            count = sum(nearest.near for nearest, _ in near)
            if (twice := found.get((both, record.question_id))) is not None:
                count -= twice[0].near
            evidence = {"kind": WORDING, "example": example, "count": count}
            yield record.question_id, Finding("seen_in_train", evidence)


def _group(
    records: list[Fingerprint], fields_of: list[Fields]
) -> dict[tuple[tuple[str, str], ...], list[Fingerprint]]:
    """The records that share the values of some fields, of which none is empty."""
    groups = defaultdict(list)
    for record in records:
        for fields in fields_of:
            values = tuple((field, getattr(record, field)) for field in fields)
            if all(value for _, value in values):
                groups[values].append(record)
    return groups
