"""Targets: what a selection must meet, and the largest selection that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from answerkey.core.cells import (
    CELLS,
    Cell,
    CorpusCell,
    Group,
    Solution,
    count_cells,
)
from answerkey.core.params import check_value
from answerkey.core.question import DIFFICULTIES
from answerkey.core.sections import Targets
from answerkey.selection.integer_program import find_by_program, find_size_by_program

TARGET_NAMES = (
    "difficulty_shares",
    "corpus_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)
_STEPS_OF_TOLERANCE = 200  # half a point each
_PLENTY = 4

Key = TypeVar("Key", bound=tuple[str, ...])


def read_targets(values: Mapping[str, Any], corpus: str | list[str]) -> Targets:
    """The targets as params spell them, for the corpus or corpora that params name.

    Raises:
        InputError: naming the key, where a value is none that it can have.
    """
    targets = check_value(Targets, values, key="select_questions.targets")
    targets.check_corpora(corpus)
    return targets


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

    Several selections may have that size. Of these it is the one nearest to the shares of eval and
    of difficulties: by how many questions each share is off, added up. Where shares are asked of
    the dataset, those of each split come next. Then it is the one with most questions in the first
    cells. The same is done for corpora. Difficulties without shares come after corpora. The order
    of the supply changes nothing.
    """
    if _takes_everything(targets):
        size = sum(supply.values())
        return Solution(size, count_cells(supply))
    return find_by_program(supply, targets)


def find_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without saying what it holds."""
    if _takes_everything(targets):
        return sum(supply.values())
    return find_size_by_program(supply, targets)


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
