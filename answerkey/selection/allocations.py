"""Allocations: how many questions of each cell make up the largest selection, computed exactly.

Once the size of a split is fixed, every target is a pair of bounds (answerkey.selection.bounds),
and whether they can be met is known without trying. So every size of a split is looked at, in whole
numbers, and nothing larger can have been missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from answerkey.core.cells import CELLS, Group, Solution, list_corpus_cells, read_share
from answerkey.core.question import DIFFICULTIES, EVAL, SPLITS, TRAIN
from answerkey.core.sections import Targets
from answerkey.selection.bounds import LEVEL_SETS, LEVELS, Bounds, bound_shares
from answerkey.selection.greedy import settle_corpora, settle_levels

if TYPE_CHECKING:
    import numpy as np

_SIZES_AT_ONCE = 1 << 15  # bounds the memory


def find_allocation(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest numbers of questions under all targets but those on answer types, where every
    database is of one corpus or nothing caps databases.

    Among those of that size: nearest to the shares of eval and of difficulties, by how many
    questions each share is off, added up; of these the ones with most questions in the first cells;
    then the same for corpora. Difficulties without shares come after corpora.
    """
    import numpy as np

    splits = {name: _Split(name, supply, targets) for name in SPLITS}
    eval_sizes = _SizeSet(splits[EVAL].list_sizes())
    size = _find_size(splits, eval_sizes, targets)
    train, others = _pairs_of_size(splits, eval_sizes, targets, size)
    scale = lcm(*(share.denominator for share in _asked_shares(targets)))
    off_eval = np.zeros_like(train)
    if targets.eval_share is not None:
        off_eval += abs(others * scale - int(read_share(targets.eval_share) * scale) * size)
    of_splits = [
        splits[name].settle(sizes, scale) for name, sizes in ((TRAIN, train), (EVAL, others))
    ]
    levels = [count for settled in of_splits for count in settled.levels]
    corpora = [count for settled in of_splits for count in settled.corpora]
    off_levels = sum(settled.off_levels for settled in of_splits)
    off_corpora = sum(settled.off_corpora for settled in of_splits)
    if targets.corpora and targets.difficulty_shares is None:
        wishes = [-(off_eval + off_corpora), *corpora, *levels]
    else:
        wishes = [-(off_eval + off_levels), *levels, -off_corpora, *corpora]
    best = np.arange(len(train))
    for wish in wishes:
        best = best[wish[best] == wish[best].max()]
    return Solution(
        size,
        {cell: int(count[best[0]]) for cell, count in zip(CELLS, levels, strict=True)},
        size,
        {
            cell: int(count[best[0]])
            for cell, count in zip(list_corpus_cells(targets.corpora), corpora, strict=True)
        },
    )


def find_allocation_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of `find_allocation`, without what it is made of."""
    splits = {name: _Split(name, supply, targets) for name in SPLITS}
    return _find_size(splits, _SizeSet(splits[EVAL].list_sizes()), targets)


class _Settled(NamedTuple):
    """Numbers of each difficulty and of each corpus for several sizes of a split, and how far they
    are off the shares, times the scale."""

    levels: Sequence[np.ndarray]
    off_levels: np.ndarray
    corpora: Sequence[np.ndarray]
    off_corpora: np.ndarray


class _Split:
    """What one split can hold; all corpora are one where none has a share."""

    def __init__(self, name: str, supply: Mapping[Group, int], targets: Targets) -> None:
        self.level_shares = _read_shares(targets.difficulty_shares, DIFFICULTIES)
        self.corpus_shares = _read_shares(targets.corpus_shares, targets.corpora)
        self.tolerance = read_share(targets.tolerance)
        corpora = {corpus: place for place, corpus in enumerate(targets.corpora or ("",))}
        databases: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0] * len(DIFFICULTIES))
        for group, count in supply.items():
            if group.split == name:
                corpus = corpora[group.corpus if self.corpus_shares else ""]
                counts = databases[corpus, group.database_name]
                counts[DIFFICULTIES.index(group.difficulty)] += count
        cap = targets.max_per_database
        self.held = {levels: [0] * len(corpora) for levels in LEVEL_SETS}
        for (corpus, database), counts in databases.items():
            for levels, held in self.held.items():
                count = sum(counts[level] for level in levels)
                # A group without a name stands for no database.
                held[corpus] += count if cap is None or not database else min(cap, count)
        self.max_size = self._find_max_size(targets.max_questions)

    def _find_max_size(self, max_questions: int | None) -> int:
        """A size that the split cannot exceed: none above it need be looked at."""
        sizes = [sum(self.held[LEVELS])]
        if max_questions is not None:
            sizes.append(max_questions)
        shares = [*(self.level_shares or ()), *(self.corpus_shares or ())]
        held = [sum(self.held[level,]) for level in LEVELS] if self.level_shares else []
        held += self.held[LEVELS] if self.corpus_shares else []
        for share, most in zip(shares, held, strict=True):
            if share > self.tolerance:
                sizes.append(int(most / (share - self.tolerance)))
        return min(sizes)

    def bound(self, sizes: np.ndarray) -> Bounds:
        """The bounds of the targets where the split has one of these sizes."""
        levels = bound_shares(sizes, self.level_shares or [None] * len(LEVELS), self.tolerance)
        if self.corpus_shares:
            corpora = bound_shares(sizes, self.corpus_shares, self.tolerance)
        else:
            corpora = bound_shares(sizes, [Fraction(1)], Fraction(0))
        return Bounds(sizes, *levels, *corpora, self.held)

    def settle(self, sizes: np.ndarray, scale: int) -> _Settled:
        """The best numbers for each of these sizes."""
        bounds = self.bound(sizes)
        if not self.corpus_shares:
            off = settle_levels(bounds, self.level_shares, scale)
            return _Settled(bounds.least_of_levels, off, [], off * 0)
        if self.level_shares:
            off_levels = settle_levels(bounds, self.level_shares, scale)
            off_corpora = settle_corpora(bounds, self.corpus_shares, scale)
        else:
            off_corpora = settle_corpora(bounds, self.corpus_shares, scale)
            off_levels = settle_levels(bounds, None, scale)
        return _Settled(bounds.least_of_levels, off_levels, bounds.most_of_corpora, off_corpora)

    def list_sizes(self) -> Iterator[np.ndarray]:
        """Every size that the split can have, in order, some at a time; 0 is always one."""
        import numpy as np

        for start in range(0, self.max_size + 1, _SIZES_AT_ONCE):
            sizes = np.arange(start, min(start + _SIZES_AT_ONCE, self.max_size + 1))
            sizes = sizes[self.bound(sizes).are_possible()]
            if len(sizes):
                yield sizes


def _read_shares(shares: Mapping[str, float] | None, names: Iterable[str]) -> list[Fraction] | None:
    return None if shares is None else [read_share(shares[name]) for name in names]


def _asked_shares(targets: Targets) -> Iterator[Fraction]:
    of_parts = (targets.difficulty_shares or {}, targets.corpus_shares or {})
    for share in (targets.eval_share, *(share for part in of_parts for share in part.values())):
        if share is not None:
            yield read_share(share)


def _eval_range(train: np.ndarray, targets: Targets, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the most that eval holds beside a train split of each size."""
    import numpy as np

    least, highest = np.zeros_like(train), np.full_like(train, most)
    if targets.max_questions is not None:
        total = min(targets.max_questions, int(train.max(initial=0)) + most)  # in 64 bits
        highest = np.minimum(highest, total - train)
    if targets.eval_share is not None:
        share, tolerance = read_share(targets.eval_share), read_share(targets.tolerance)
        low, high = max(share - tolerance, 0), share + tolerance
        # eval >= low x (train + eval), and so on
        if low < 1:
            least = -(-train * low.numerator // (low.denominator - low.numerator))
        else:
            least = np.where(train > 0, most + 1, 0)
        if high < 1:
            cap = train * high.numerator // (high.denominator - high.numerator)
            highest = np.minimum(highest, cap)
    return least, highest


class _SizeSet:
    """A set of sizes, held as runs of sizes without a gap, of which there are few."""

    def __init__(self, sizes: Iterable[np.ndarray]) -> None:
        import numpy as np

        first, last = [], []
        for some in sizes:
            gaps = np.flatnonzero(np.diff(some) > 1)
            first.append(some[np.concatenate([[0], gaps + 1])])
            last.append(some[np.concatenate([gaps, [len(some) - 1]])])
        self._first, self._last = np.concatenate(first), np.concatenate(last)

    def find_largest(self, most: np.ndarray) -> np.ndarray:
        """The largest size up to each of some numbers; -1 where there is none."""
        import numpy as np

        run = np.searchsorted(self._first, most, side="right") - 1
        return np.where(run >= 0, np.minimum(most, self._last[run]), -1)


def _find_size(splits: Mapping[str, _Split], eval_sizes: _SizeSet, targets: Targets) -> int:
    """The largest sum of a size of train and one of eval that go together."""
    size = 0
    for train in splits[TRAIN].list_sizes():
        least, most = _eval_range(train, targets, splits[EVAL].max_size)
        largest = eval_sizes.find_largest(most)
        sums = (train + largest)[largest >= least]
        size = max(size, int(sums.max(initial=0)))
    return size


def _pairs_of_size(
    splits: Mapping[str, _Split], eval_sizes: _SizeSet, targets: Targets, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a size of train and one of eval that make up this size."""
    import numpy as np

    found = []
    for train in splits[TRAIN].list_sizes():
        least, most = _eval_range(train, targets, splits[EVAL].max_size)
        others = size - train
        is_pair = (eval_sizes.find_largest(others) == others) & (others >= least) & (others <= most)
        found.append(train[is_pair])
    train = np.concatenate(found)
    return train, size - train
