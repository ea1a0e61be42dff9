"""Similar texts: which of some texts are nearly one of them, and which of these is nearest."""

from __future__ import annotations

from typing import NamedTuple

from rapidfuzz import fuzz, process

from answerkey.comparison.set_records import sort_key

MIN_SIMILARITY = 0.9


class Near(NamedTuple):
    """A question whose text is nearly that of another one, and how nearly."""

    question_id: str
    similarity: float


def find_similar(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    """The places of the texts that are nearly this one, each with its similarity; equal texts are
    left out.

    >>> find_similar("list all ships", ["list all shops", "list all ships", "who?"], 0.9)
    [(0, 0.929)]
    """
    if not text:
        return []
    found = process.extract(
        text, texts, scorer=fuzz.ratio, score_cutoff=100 * min_similarity, limit=None
    )
    return [(place, round(score / 100, 3)) for other, score, place in found if other != text]


def measure_similarity(text: str, other: str) -> float:
    """How similar two texts are, from 0 to 1; 1 where they are equal, and only there.

    >>> measure_similarity("list all ships", "list all shops")
    0.929
    """
    return 1.0 if text == other else min(round(fuzz.ratio(text, other) / 100, 3), 0.999)


def choose_nearest(current: Near | None, found: Near) -> Near:
    """The more similar one; the first question of two that are equally so."""
    if current is None:
        return found
    return min(current, found, key=lambda near: (-near.similarity, sort_key(near.question_id)))
