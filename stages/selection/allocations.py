"""Allocations: how many questions of each cell make up the largest selection, computed exactly.

Once the size of a split is fixed, every target is a pair of bounds on each of its three cells: a
share, give or take the tolerance; the supply; and also a cap on each database, since what two cells
can hold together bounds the third from below. So every size of a split is looked at, in whole
numbers, and nothing larger can have been missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import TYPE_CHECKING

from stages.question import DIFFICULTIES, EVAL, SPLITS, TRAIN
from stages.selection.cells import CELLS, Group, Solution, read_share

if TYPE_CHECKING:
    import numpy as np

    from stages.selection.targets import Targets

_SIZES_AT_ONCE = 1_000_000  # bounds the memory


def find_allocation(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest numbers of questions under all targets but those on answer types.

    Among those of that size: nearest to the shares, by how many questions each share is off, added
    up; and of these the ones with most questions in the first cells.
    """
    import numpy as np

    splits = {name: _Split(name, supply, targets) for name in SPLITS}
    train, others = _list_pairs(splits, targets)
    size = int((train + others).max())
    train, others = _pairs_of_size(splits, targets, size)
    scale = lcm(*(share.denominator for share in _asked_shares(targets)))
    distance = np.zeros_like(train)
    if targets.eval_share is not None:
        distance += abs(others * scale - int(read_share(targets.eval_share) * scale) * size)
    counts = []
    for split, sizes in ((splits[TRAIN], train), (splits[EVAL], others)):
        allocated, off = split.allocate(sizes, scale)
        counts += allocated
        distance += off
    nearest = np.flatnonzero(distance == distance.min())
    best = max(tuple(int(count[index]) for count in counts) for index in nearest)
    return Solution(size, dict(zip(CELLS, best, strict=True)), size)


def find_allocation_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of `find_allocation`, without what it is made of."""
    splits = {name: _Split(name, supply, targets) for name in SPLITS}
    train, others = _list_pairs(splits, targets)
    return int((train + others).max())


class _Split:
    """What one split can hold."""

    def __init__(self, name: str, supply: Mapping[Group, int], targets: Targets) -> None:
        self.shares = targets.difficulty_shares and [
            read_share(targets.difficulty_shares[level]) for level in DIFFICULTIES
        ]
        self.tolerance = read_share(targets.tolerance)
        databases: dict[str, list[int]] = defaultdict(lambda: [0] * len(DIFFICULTIES))
        for group, count in supply.items():
            if group.split == name:
                databases[group.database_name][DIFFICULTIES.index(group.difficulty)] += count
        cap = targets.max_per_database
        self.most = {cells: 0 for size in (1, 2, 3) for cells in combinations(range(3), size)}
        for database, counts in databases.items():
            for cells in self.most:
                held = sum(counts[cell] for cell in cells)
                # A group without a name stands for no database.
                self.most[cells] += held if cap is None or not database else min(cap, held)
        self.max_size = self.most[0, 1, 2]
        if targets.max_questions is not None:
            self.max_size = min(self.max_size, targets.max_questions)

    def bounds(self, sizes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """The least and the most that each cell holds where the split has this size."""
        import numpy as np

        found = []
        for cell in range(len(DIFFICULTIES)):
            others = tuple(other for other in range(len(DIFFICULTIES)) if other != cell)
            least = np.maximum(0, sizes - self.most[others])
            most = np.minimum(sizes, self.most[cell,])
            if self.shares:
                low, high = self.shares[cell] - self.tolerance, self.shares[cell] + self.tolerance
                least = np.maximum(least, -(-sizes * low.numerator // low.denominator))
                most = np.minimum(most, sizes * high.numerator // high.denominator)
            found.append((least, most))
        return found

    def list_sizes(self) -> np.ndarray:
        """Every size that the split can have, in order; 0 is always one."""
        import numpy as np

        found = []
        for start in range(0, self.max_size + 1, _SIZES_AT_ONCE):
            sizes = np.arange(start, min(start + _SIZES_AT_ONCE, self.max_size + 1))
            bounds = self.bounds(sizes)
            is_possible = sum(least for least, _ in bounds) <= sizes
            is_possible &= sum(most for _, most in bounds) >= sizes
            for least, most in bounds:
                is_possible &= least <= most
            found.append(sizes[is_possible])
        return np.concatenate(found)

    def allocate(self, sizes: np.ndarray, scale: int) -> tuple[list[np.ndarray], np.ndarray]:
        """The numbers of questions of each cell for each size, and how far they are off the shares
        in all, times the scale.

        One more question in a cell brings it nearer by 1 below its share, farther by 1 above, and
        something between where it crosses; so questions are dealt out in this order.
        """
        import numpy as np

        bounds = self.bounds(sizes)
        counts = [least.copy() for least, _ in bounds]
        left = sizes - sum(counts)

        def deal(cell: int, wanted: np.ndarray) -> None:
            given = np.minimum(left, np.maximum(wanted, 0))
            counts[cell] += given
            np.subtract(left, given, out=left)

        wishes = [sizes * int(share * scale) for share in self.shares or ()]
        for cell, wish in enumerate(wishes):
            deal(cell, np.minimum(wish // scale, bounds[cell][1]) - counts[cell])
        crossings = np.zeros((len(wishes), len(sizes)), dtype=np.int64)
        for cell, wish in enumerate(wishes):
            is_next = (counts[cell] == wish // scale) & (counts[cell] < bounds[cell][1])
            crossings[cell] = np.where(is_next, wish % scale, 0)
        for _ in wishes:
            first = crossings.argmax(axis=0)
            is_crossing = crossings.max(axis=0) > 0
            for cell in range(len(wishes)):
                is_dealt = is_crossing & (first == cell)
                deal(cell, is_dealt.astype(np.int64))
                crossings[cell][is_dealt] = 0
        for cell, (_, most) in enumerate(bounds):
            deal(cell, most - counts[cell])
        off = [
            abs(count * scale - wish) for count, wish in zip(counts, wishes or counts, strict=True)
        ]
        return counts, sum(off) if wishes else np.zeros_like(sizes)


def _asked_shares(targets: Targets) -> Iterator[Fraction]:
    for share in (targets.eval_share, *(targets.difficulty_shares or {}).values()):
        if share is not None:
            yield read_share(share)


def _eval_range(train: np.ndarray, targets: Targets, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the most that eval holds beside a train split of each size."""
    import numpy as np

    least, highest = np.zeros_like(train), np.full_like(train, most)
    if targets.max_questions is not None:
        highest = np.minimum(highest, targets.max_questions - train)
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


def _list_pairs(splits: Mapping[str, _Split], targets: Targets) -> tuple[np.ndarray, np.ndarray]:
    """Each size of train that some size of eval goes with, and the largest such size."""
    import numpy as np

    train, sizes = splits[TRAIN].list_sizes(), splits[EVAL].list_sizes()
    least, most = _eval_range(train, targets, splits[EVAL].max_size)
    place = np.searchsorted(sizes, most, side="right") - 1
    largest = sizes[np.maximum(place, 0)]
    is_pair = (place >= 0) & (largest >= least)
    return train[is_pair], largest[is_pair]


def _pairs_of_size(
    splits: Mapping[str, _Split], targets: Targets, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of a size of train and one of eval that make up this size."""
    import numpy as np

    train, sizes = splits[TRAIN].list_sizes(), splits[EVAL].list_sizes()
    least, most = _eval_range(train, targets, splits[EVAL].max_size)
    others = size - train
    is_pair = np.isin(others, sizes) & (others >= least) & (others <= most)
    return train[is_pair], others[is_pair]
