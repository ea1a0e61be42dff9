"""Bounds: between which numbers each difficulty and each corpus lies in a split of some size.

Questions flow from difficulties over databases to corpora. By Hoffman's circulation theorem
(A. J. Hoffman, 1960) whole numbers within all bounds exist if and only if no cut forbids it. For
each set of difficulties there are four kinds of cuts, and in each of them every corpus takes the
cheaper side, so that none has to be looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from answerkey.core.question import DIFFICULTIES

if TYPE_CHECKING:
    import numpy as np

Levels = tuple[int, ...]  # places among DIFFICULTIES
LEVELS: Levels = tuple(range(len(DIFFICULTIES)))
LEVEL_SETS: tuple[Levels, ...] = tuple(
    levels for size in range(len(LEVELS) + 1) for levels in combinations(LEVELS, size)
)


def bound_shares(
    sizes: np.ndarray, shares: Sequence[Fraction | None], tolerance: Fraction
) -> tuple[np.ndarray, np.ndarray]:
    """The least and the most of each share (a row) for each size (a column); None: any number."""
    import numpy as np

    least, most = [], []
    for share in shares:
        low, high = (0, 1) if share is None else (share - tolerance, share + tolerance)
        low, high = Fraction(max(low, 0)), Fraction(min(high, 1))
        least.append(-(-sizes * low.numerator // low.denominator))
        most.append(sizes * high.numerator // high.denominator)
    return np.stack(least), np.stack(most)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most of each difficulty and of each corpus (a row), for splits of several
    sizes (a column), and the most that some difficulties of a corpus hold together."""

    sizes: np.ndarray
    least_of_levels: np.ndarray
    most_of_levels: np.ndarray
    least_of_corpora: np.ndarray
    most_of_corpora: np.ndarray
    held: Mapping[Levels, Sequence[int]]

    def take(self, places: np.ndarray) -> Bounds:
        """The bounds for some of the sizes."""
        return Bounds(
            self.sizes[places],
            self.least_of_levels[:, places],
            self.most_of_levels[:, places],
            self.least_of_corpora[:, places],
            self.most_of_corpora[:, places],
            self.held,
        )

    def are_possible(self) -> np.ndarray:
        """For each size whether there are whole numbers within the bounds."""
        import numpy as np

        is_possible = (self.least_of_levels <= self.most_of_levels).all(axis=0)
        is_possible &= (self.least_of_corpora <= self.most_of_corpora).all(axis=0)
        for levels in LEVEL_SETS:
            others = [level for level in LEVELS if level not in levels]
            least, most = self._least(levels), self.most_of_levels[others].sum(axis=0)
            is_possible &= np.maximum(least, self.sizes - most) <= self._find_most(levels)
            is_possible &= self._find_least_beside(levels) <= np.minimum(most, self.sizes - least)
        return is_possible

    def find_room_above(self, level: int) -> np.ndarray:
        """By how much the least of a difficulty can rise, with whole numbers still possible."""
        import numpy as np

        room = self.most_of_levels[level] - self.least_of_levels[level]
        for levels in LEVEL_SETS:
            if level in levels:
                most = np.minimum(
                    self._find_most(levels), self.sizes - self._find_least_beside(levels)
                )
                room = np.minimum(room, most - self._least(levels))
        return room

    def find_room_below(self, corpus: int) -> np.ndarray:
        """By how much the most of a corpus can fall, with whole numbers still possible."""
        import numpy as np

        room = self.most_of_corpora[corpus] - self.least_of_corpora[corpus]
        for levels in LEVEL_SETS:
            others = [level for level in LEVELS if level not in levels]
            most = self.most_of_levels[others].sum(axis=0)
            slack = self._find_most(levels) - np.maximum(self._least(levels), self.sizes - most)
            unused = np.maximum(0, self.most_of_corpora[corpus] - self.held[levels][corpus])
            room = np.minimum(room, slack + unused)
        return room

    def _least(self, levels: Levels) -> np.ndarray:
        return self.least_of_levels[list(levels)].sum(axis=0)

    def _find_most(self, levels: Levels) -> np.ndarray:
        """The most that these difficulties hold together under the bounds of the corpora."""
        import numpy as np

        pairs = zip(self.most_of_corpora, self.held[levels], strict=True)
        return sum(np.minimum(most, held) for most, held in pairs)

    def _find_least_beside(self, levels: Levels) -> np.ndarray:
        """The least that the other difficulties hold together, for the corpora have no more of
        these."""
        import numpy as np

        pairs = zip(self.least_of_corpora, self.held[levels], strict=True)
        return sum(np.maximum(0, least - held) for least, held in pairs)
