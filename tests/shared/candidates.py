"""Candidates of a selection as lists, which tests make, and as the selection holds them."""

from __future__ import annotations

from answerkey.dataset import Solution
from answerkey.selection.picks import Candidate, Candidates, pick
from answerkey.selection.targets import Targets


def hold(candidates: list[Candidate], *, seed: int) -> Candidates:
    """The candidates on the disk, each numbered by its place in the list."""
    return Candidates(
        (candidate._replace(number=place) for place, candidate in enumerate(candidates)), seed=seed
    )


def pick_ids(
    candidates: list[Candidate], solution: Solution, targets: Targets, *, seed: int
) -> set[str]:
    """The ids of the picked ones, each of which is picked once."""
    numbers = list(pick(hold(candidates, seed=seed), solution, targets))
    assert len(set(numbers)) == len(numbers)
    return {candidates[number].question_id for number in numbers}
