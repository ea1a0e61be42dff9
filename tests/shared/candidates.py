"""Candidates of a selection as lists, which tests make, and as the table that selection has."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from answerkey.dataset import Group, Solution
from answerkey.sections.select_questions import Targets
from answerkey.selection.picks import order_candidates, pick


class Candidate(NamedTuple):
    """A usable question, as far as selection looks at it."""

    group: Group
    question_id: str
    template: str
    canonical_sql: str = ""
    suite_score: float | None = None


def tabulate(candidates: list[Candidate], *, seed: int, by_corpus: bool = False) -> pd.DataFrame:
    """The candidates in their order, each indexed by its place in the list."""
    columns = [*Group._fields, *Candidate._fields[1:]]
    rows = [(*candidate.group, *candidate[1:]) for candidate in candidates]
    table = pd.DataFrame(rows, columns=columns, dtype=object)
    return order_candidates(table, seed=seed, by_corpus=by_corpus)


def pick_ids(
    candidates: list[Candidate], solution: Solution, targets: Targets, *, seed: int
) -> set[str]:
    """The ids of the picked ones, each of which is picked once."""
    table = tabulate(candidates, seed=seed, by_corpus=bool(targets.corpora))
    places = pick(table, solution, targets)
    assert len(set(places)) == len(places)
    return {candidates[place].question_id for place in places}
