"""Greedy: of all whole numbers within bounds, those that are nearest to the shares.

What a flow of fixed size brings to one of its sides are the bases of a submodular function, and on
these the greedy way is the best one (A. Federgruen and H. Groenevelt, 1986): of the single steps
that leave whole numbers within the bounds, take the one that brings the shares nearest.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from answerkey.selection.bounds import Bounds

if TYPE_CHECKING:
    import numpy as np


class _End(NamedTuple):
    """A difficulty whose least rises, or a corpus whose most falls: `row` times `sign` rises."""

    place: int
    sign: int
    row: np.ndarray
    wish: np.ndarray | None  # times the scale and the sign; None: no share


def settle_levels(bounds: Bounds, shares: Sequence[Fraction] | None, scale: int) -> np.ndarray:
    """By how many questions, times the scale, the difficulties are off their shares in all, for
    each size; from now on the bounds leave one number for each difficulty.

    Of numbers as near as these, they have the most questions in the first difficulties. The scale
    makes every share a whole number.
    """
    ends = [
        _End(place, 1, row, None if shares is None else bounds.sizes * int(shares[place] * scale))
        for place, row in enumerate(bounds.least_of_levels)
    ]
    off = _settle(bounds, ends, scale)
    bounds.most_of_levels[:] = bounds.least_of_levels
    return off


def settle_corpora(bounds: Bounds, shares: Sequence[Fraction], scale: int) -> np.ndarray:
    """The same for the corpora."""
    ends = [
        _End(place, -1, bounds.most_of_corpora[place], -bounds.sizes * int(share * scale))
        for place, share in enumerate(shares)
    ]
    off = _settle(bounds, ends[::-1], scale)  # equally good steps spare the first corpora
    bounds.least_of_corpora[:] = bounds.most_of_corpora
    return off


def _settle(bounds: Bounds, ends: Sequence[_End], scale: int) -> np.ndarray:
    import numpy as np

    def move(end: _End, wanted: np.ndarray, places: np.ndarray | slice = slice(None)) -> None:
        part = bounds.take(places)
        find_room = part.find_room_above if end.sign == 1 else part.find_room_below
        end.row[places] += end.sign * np.clip(wanted, 0, find_room(end.place))

    # A step is 1 nearer before its share, 1 farther after it, and something between where it
    # crosses; without a share it is neither.
    slopes, is_crossing = [], []
    for end in ends:
        if end.wish is not None:
            goal, rest = np.divmod(end.wish, scale)
            move(end, goal - end.sign * end.row)
            slopes.append(scale - 2 * rest)
            is_crossing.append((end.sign * end.row == goal) & (rest > 0))
    if slopes:
        for turn in np.stack(slopes).argsort(axis=0, kind="stable"):
            for number, end in enumerate(ends):
                places = np.flatnonzero((turn == number) & is_crossing[number])
                move(end, np.ones_like(places), places)
    off = np.zeros_like(bounds.sizes)
    for end in ends:
        move(end, bounds.sizes)
        if end.wish is not None:
            off += abs(end.sign * end.row * scale - end.wish)
    return off
