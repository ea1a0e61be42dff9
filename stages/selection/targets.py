"""Targets: what a selection must meet, and the largest selection that does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from stages.errors import InputError
from stages.question import DIFFICULTIES
from stages.selection.allocations import find_allocation, find_allocation_size
from stages.selection.cells import (
    CELLS,
    Cell,
    CorpusCell,
    Group,
    Solution,
    count_cells,
    read_share,
)
from stages.selection.integer_program import find_by_program, find_size_by_program

TARGET_NAMES = (
    "difficulty_shares",
    "corpus_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)
_WHERE = "select_questions.targets"
_STEPS_OF_TOLERANCE = 200  # half a point each
_PLENTY = 4

Key = TypeVar("Key", bound=tuple[str, ...])


@dataclass(frozen=True, slots=True)
class Targets:
    """What a selection must meet; None: no such constraint.

    difficulty_shares: share of each difficulty in each split; they add up to 1.
    corpus_shares: share of each corpus in each split; they add up to 1.
    eval_share: share of eval among all.
    tolerance: how far a share may be off (0.02: two points).
    """

    difficulty_shares: Mapping[str, float] | None = None
    corpus_shares: Mapping[str, float] | None = None
    eval_share: float | None = None
    tolerance: float = 0.0
    min_questions: int | None = None
    max_questions: int | None = None
    max_per_database: int | None = None
    max_answer_type_share: float | None = None

    def __post_init__(self) -> None:
        levels = self.difficulty_shares
        if levels is not None:
            if not isinstance(levels, Mapping) or set(levels) != set(DIFFICULTIES):
                raise InputError(
                    f"{_WHERE}.difficulty_shares: expected {', '.join(DIFFICULTIES)},"
                    f" found {levels!r}"
                )
            _check_shares("difficulty_shares", levels)
        corpora = self.corpus_shares
        if corpora is not None:
            is_mapping = isinstance(corpora, Mapping) and corpora
            if not is_mapping or not all(isinstance(name, str) and name for name in corpora):
                raise InputError(
                    f"{_WHERE}.corpus_shares: expected a share for each corpus, as in"
                    f" {{spider: 0.5, bird: 0.5}}, found {corpora!r}"
                )
            _check_shares("corpus_shares", corpora)
        _check_share("tolerance", self.tolerance)
        for name in ("eval_share", "max_answer_type_share"):
            value = getattr(self, name)
            if value is not None:
                _check_share(name, value)
        for name in ("min_questions", "max_questions", "max_per_database"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                raise InputError(
                    f"{_WHERE}.{name}: expected a whole number from 0, found {value!r}"
                )

    @property
    def corpora(self) -> tuple[str, ...]:
        """The corpora that have a share, sorted: their order in params changes nothing."""
        return tuple(sorted(self.corpus_shares or ()))


def _check_shares(name: str, shares: Mapping[str, Any]) -> None:
    for part, share in shares.items():
        _check_share(f"{name}.{part}", share)
    total = sum(map(read_share, shares.values()))
    if total != 1:
        raise InputError(
            f"{_WHERE}.{name}: expected a sum of 1, found {float(total):g}: {dict(shares)}"
        )


def _check_share(name: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise InputError(f"{_WHERE}.{name}: expected a share from 0 to 1, found {value!r}")


def check_corpora(targets: Targets, corpora: Iterable[str]) -> None:
    """Make sure that each of these corpora has a share, if any has, and no other one does.

    Raises:
        InputError: with both lists.
    """
    expected = sorted(set(corpora))
    if targets.corpus_shares is not None and list(targets.corpora) != expected:
        raise InputError(
            f"{_WHERE}.corpus_shares: expected a share for each of the corpora"
            f" {', '.join(expected)}, found {', '.join(targets.corpora)}:"
            " every corpus of `corpus` needs one, which may be 0"
        )


def read_targets(values: Mapping[str, Any], corpus: str | list[str]) -> Targets:
    """The targets as params spell them, for the corpus or corpora that params name.

    Raises:
        InputError: naming the key, where a value is none that it can have.
    """
    targets = Targets(**values)
    check_corpora(targets, [corpus] if isinstance(corpus, str) else corpus)
    return targets


def _takes_everything(targets: Targets) -> bool:
    """Whether no target limits a selection; then nothing need be solved, nor a solver loaded."""
    return all(getattr(targets, name) is None for name in TARGET_NAMES)


def _needs_program(supply: Mapping[Group, int], targets: Targets) -> bool:
    """Whether a cap reaches over cells or corpora in such a way that only a solver can tell."""
    if targets.max_answer_type_share is not None:
        return True
    if targets.corpus_shares is None or targets.max_per_database is None:
        return False
    corpora = defaultdict(set)
    for group in supply:
        corpora[group.database_name].add(group.corpus)
    return any(len(found) > 1 for name, found in corpora.items() if name)


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
    if _needs_program(supply, targets):
        return find_by_program(supply, targets)
    return find_allocation(supply, targets)


def find_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without saying what it holds."""
    if _takes_everything(targets):
        return sum(supply.values())
    if _needs_program(supply, targets):
        return find_size_by_program(supply, targets)
    return find_allocation_size(supply, targets)


def find_binding_cells(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[Cell, int]:
    """The cells that hold the selection back, each with the size that it would have if that cell
    alone held plenty: four times as many as there are in all; largest gain first."""
    if targets.difficulty_shares is None and targets.eval_share is None:
        return {}  # no cell stands in the way of another
    cells = count_cells(supply)
    full = [cell for cell in CELLS if solution.counts[cell] == cells[cell]]
    corpora = targets.corpora or ("",)
    return _find_gains(
        {cell: [Group(*cell, "", "", corpus) for corpus in corpora] for cell in full},
        *(supply, targets, solution),
    )


def find_binding_corpora(
    supply: Mapping[Group, int], targets: Targets, solution: Solution
) -> dict[CorpusCell, int]:
    """The same for the corpora of each split, where they have shares, used up or not."""
    return _find_gains(
        {
            (split, corpus): [Group(split, level, "", "", corpus) for level in DIFFICULTIES]
            for split, corpus in solution.corpora
        },
        *(supply, targets, solution),
    )


def find_binding_levels(
    supply: Mapping[Group, int], targets: Targets, solution: Solution, cell: CorpusCell
) -> dict[str, int]:
    """The same for the difficulties of one corpus in one split."""
    split, corpus = cell
    found = _find_gains(
        {(level,): [Group(split, level, "", "", corpus)] for level in DIFFICULTIES},
        *(supply, targets, solution),
    )
    return {level: size for (level,), size in found.items()}


def _find_gains(
    groups: Mapping[Key, list[Group]],
    supply: Mapping[Group, int],
    targets: Targets,
    solution: Solution,
) -> dict[Key, int]:
    """The size that each would give with plenty of its groups, where that is larger; largest gain
    first. No cap looks at these groups, since they have no database and no answer type."""
    plenty = _PLENTY * (sum(supply.values()) + 1)
    sizes = {
        key: find_size({**supply, **dict.fromkeys(more, plenty)}, targets)
        for key, more in groups.items()
    }
    found = {key: size for key, size in sizes.items() if size > solution.size}
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


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
