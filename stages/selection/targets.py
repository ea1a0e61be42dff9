"""Targets: what a selection must meet, and the largest selection that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from stages.question import DIFFICULTIES
from stages.selection.allocations import find_allocation, find_allocation_size
from stages.selection.cells import CELLS, Cell, Group, Solution, count_cells, read_share
from stages.selection.integer_program import find_by_program, find_size_by_program

TARGET_NAMES = (
    "difficulty_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)
_STEPS_OF_TOLERANCE = 200  # half a point each
_PLENTY = 4


@dataclass(frozen=True, slots=True)
class Targets:
    """What a selection must meet; None: no such constraint.

    difficulty_shares: share of each difficulty in each split; they add up to 1.
    eval_share: share of eval among all.
    tolerance: how far a share may be off (0.02: two points).
    """

    difficulty_shares: Mapping[str, float] | None = None
    eval_share: float | None = None
    tolerance: float = 0.0
    min_questions: int | None = None
    max_questions: int | None = None
    max_per_database: int | None = None
    max_answer_type_share: float | None = None

    def __post_init__(self) -> None:
        shares = self.difficulty_shares
        if shares is not None:
            if not isinstance(shares, Mapping) or set(shares) != set(DIFFICULTIES):
                raise ValueError(
                    f"difficulty_shares: expected {', '.join(DIFFICULTIES)}, found {shares!r}"
                )
            for level, share in shares.items():
                _check_share(f"difficulty_shares.{level}", share)
            if sum(map(read_share, shares.values())) != 1:
                raise ValueError(f"difficulty_shares: expected a sum of 1, found {dict(shares)}")
        _check_share("tolerance", self.tolerance)
        for name in ("eval_share", "max_answer_type_share"):
            value = getattr(self, name)
            if value is not None:
                _check_share(name, value)
        for name in ("min_questions", "max_questions", "max_per_database"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise ValueError(f"{name}: expected a whole number from 0, found {value!r}")


def _check_share(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise ValueError(f"{name}: expected a share from 0 to 1, found {value!r}")


def _takes_everything(targets: Targets) -> bool:
    """Whether no target limits a selection; then nothing need be solved, nor a solver loaded."""
    return all(getattr(targets, name) is None for name in TARGET_NAMES)


def find_largest(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest selection that meets the targets but min_questions, which may be out of reach.

    >>> supply = {Group(split, level, "a", "list"): 10 for split, level in CELLS}
    >>> shares = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
    >>> find_largest(supply, Targets(difficulty_shares=shares, eval_share=0.5)).counts
    ... # doctest: +NORMALIZE_WHITESPACE
    {('train', 'easy'): 10, ('train', 'medium'): 10, ('train', 'hard'): 5,
     ('eval', 'easy'): 10, ('eval', 'medium'): 10, ('eval', 'hard'): 5}

    Among selections of that size it is the one nearest to the shares, and among those the one with
    most questions in the first cells: whatever the order of the supply, it is the same.
    """
    if _takes_everything(targets):
        size = sum(supply.values())
        return Solution(size, count_cells(supply), size)
    if targets.max_answer_type_share is None:
        return find_allocation(supply, targets)
    return find_by_program(supply, targets)


def find_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without saying what it holds."""
    if _takes_everything(targets):
        return sum(supply.values())
    if targets.max_answer_type_share is None:
        return find_allocation_size(supply, targets)
    return find_size_by_program(supply, targets)


def find_binding_cells(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[Cell, int]:
    """The cells that hold the selection back, each with the size that it would have if that cell
    alone held plenty: four times as many as there are in all; largest gain first."""
    if targets.difficulty_shares is None and targets.eval_share is None:
        return {}  # no cell stands in the way of another
    found = {}
    cells = count_cells(supply)
    for cell in CELLS:
        if solution.counts[cell] < cells[cell]:
            continue
        plenty = Group(*cell, database_name="", answer_type="")  # which no cap looks at
        size = find_size({**supply, plenty: _PLENTY * (sum(supply.values()) + 1)}, targets)
        if size > solution.size:
            found[cell] = size
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], CELLS.index(pair[0]))))


def find_binding_caps(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[str, int]:
    """The other targets that hold the selection back, each with the size that it would have without
    it; largest gain first."""
    found = {}
    for name in TARGET_NAMES:
        if getattr(targets, name) is not None:
            size = find_size(supply, replace(targets, **{name: None}))
            if size > solution.size:
                found[name] = size
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], TARGET_NAMES.index(pair[0]))))


def find_tolerance(
    supply: Mapping[Group, int], targets: Targets, min_questions: int
) -> float | None:
    """The smallest tolerance, in steps of half a point, at which min_questions come together; None
    where none does."""

    def reaches(steps: int) -> bool:
        loosened = replace(targets, tolerance=steps / _STEPS_OF_TOLERANCE)
        return find_size(supply, loosened) >= min_questions

    low, high = 0, _STEPS_OF_TOLERANCE
    if not reaches(high):
        return None
    while low < high:
        middle = (low + high) // 2
        if reaches(middle):
            high = middle
        else:
            low = middle + 1
    return low / _STEPS_OF_TOLERANCE
