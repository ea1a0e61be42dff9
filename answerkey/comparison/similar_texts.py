"""Similar texts: which of some texts are nearly one of them, and which of these is nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rapidfuzz import fuzz, process

from answerkey.comparison.set_records import sort_key

if TYPE_CHECKING:
    import numpy as np

MIN_SIMILARITY = 0.9
_MANY = 100  # texts, from which on it pays to look at their letters first
_LETTERS = 32
_MOST_OF_A_LETTER = 1000  # 32 of these add up to a number of 16 bits


class Near(NamedTuple):
    """A question whose text is nearly that of another one, and how nearly."""

    question_id: str
    similarity: float


def find_similar(text: str, texts: list[str], min_similarity: float) -> list[tuple[int, float]]:
    """Which of some texts are nearly this one, by their place, and how nearly; not those that are
    equal.

    >>> find_similar("list all ships", ["list all shops", "list all ships", "who?"], 0.9)
    [(0, 0.929)]
    """
    if not text:
        return []
    found = process.extract(
        text, texts, scorer=fuzz.ratio, score_cutoff=100 * min_similarity, limit=None
    )
    return [(place, round(score / 100, 3)) for other, score, place in found if other != text]


class TextSet:
    """Texts of which those that are similar to others are looked for, again and again.

    Where there are many, only those are compared that have nearly the same letters: one more or one
    less of a letter is one insertion or deletion at least.
    """

    def __init__(self, texts: Sequence[str], min_similarity: float) -> None:
        self._texts = list(texts)
        self._min_similarity = min_similarity
        self._letters: np.ndarray | None = None
        if len(self._texts) >= _MANY:
            import numpy as np

            # A column for each text: sums over rows are the fast ones.
            self._letters = np.stack([_count_letters(text) for text in self._texts], axis=1)
            self._lengths = np.array([len(text) for text in self._texts])

    def find_similar(self, text: str) -> list[tuple[int, float]]:
        """As the function of that name."""
        if self._letters is None:
            return find_similar(text, self._texts, self._min_similarity)
        letters = _count_letters(text)
        distances = abs(self._letters - letters[:, None]).sum(axis=0, dtype=letters.dtype)
        most = (1 - self._min_similarity) * (self._lengths + len(text)) + 1e-6
        places = (distances <= most).nonzero()[0].tolist()
        found = find_similar(text, [self._texts[place] for place in places], self._min_similarity)
        return [(places[place], similarity) for place, similarity in found]


def _count_letters(text: str) -> np.ndarray:
    """How often each letter occurs; some share a place."""
    import numpy as np

    letters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    counts = np.bincount(letters % _LETTERS, minlength=_LETTERS)
    return np.minimum(counts, _MOST_OF_A_LETTER).astype(np.int16)


def choose_nearest(current: Near | None, found: Near) -> Near:
    """The more similar one; the first question of two that are equally so."""
    if current is None:
        return found
    return min(current, found, key=lambda near: (-near.similarity, sort_key(near.question_id)))
