"""Questions of eval that train answers on their own database, which is in both splits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from answerkey.base.records import EVAL, Finding

if TYPE_CHECKING:
    from answerkey.comparison.compare import Fingerprint

# What a question of train has in common with one of eval, the strongest first: the kind of a
# finding, and the field of a fingerprint.
_SHARED = {"question": "text", "sql": "canonical_sql", "constants": "query"}
# What two questions need in common for nearly one text to say that they ask the same.
_SHARED_BY_NEAR = ("template", "answer")
WORDING = "wording"


def find_seen_in_train(
    of_database: list[Fingerprint],
    find_similar: Callable[[str, list[str]], list[tuple[int, float]]],
) -> Iterator[tuple[str, Finding]]:
    """Each question of eval that repeats one of train of the same database, with how, with the
    first such question, and with how many there are.

    find_similar: gives the places of texts that are nearly a text, each with its similarity. Only
        questions of one template or one answer are compared: those for the shortest and for the
        longest of something are nearly the same words as well.
    """
    held_out = [record for record in of_database if record.split == EVAL]
    train = [record for record in of_database if record.split != EVAL]
    if not held_out or not train:
        return
    known: dict[tuple[str, str], list[Fingerprint]] = defaultdict(list)
    for record in train:
        for field in (*_SHARED.values(), *_SHARED_BY_NEAR):
            known[field, getattr(record, field)].append(record)
    for record in held_out:
        for kind, field in _SHARED.items():
            value = getattr(record, field)
            if value and (others := known.get((field, value))):
                evidence = {"kind": kind, "example": others[0].question_id, "count": len(others)}
                yield record.question_id, Finding("seen_in_train", evidence)
                break
        else:
            pairs = ((field, getattr(record, field)) for field in _SHARED_BY_NEAR)
            sharing = chain.from_iterable(known.get(pair, ()) for pair in pairs if pair[1])
            others = list(dict.fromkeys(sharing))
            if near := find_similar(record.text, [other.text for other in others]):
                place, _ = min(near, key=lambda pair: (-pair[1], pair[0]))
                evidence = {
                    "kind": WORDING,
                    "example": others[place].question_id,
                    "count": len(near),
                }
                yield record.question_id, Finding("seen_in_train", evidence)
