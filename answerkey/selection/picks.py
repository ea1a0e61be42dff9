"""Selection inside the cells: which questions, once it is known how many of each cell.

Inside a cell the order is: first questions of every SQL template, then second ones, and so on, each
round by mutation score, and where it is the same by a keyed hash of the question. The order of two
questions does not depend on what else there is beyond their templates, so that one exclusion moves
little.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from answerkey.core.cells import CELLS, Group, Solution, read_share
from answerkey.selection.candidates import MOST_UNPROVED, Candidates, Ranked
from answerkey.selection.integer_program import solve
from answerkey.selection.spread import spread
from answerkey.selection.targets import Targets

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_PLACE_BYTES = 3  # of a hash: enough to tell questions apart, few enough to add up exactly


def pick(candidates: Candidates, solution: Solution, targets: Targets) -> Iterator[int]:
    """The numbers of the chosen questions: of each cell, and of each corpus of a split, as many as
    the solution says.

    Under a cap on databases or answer types all candidates are held in memory.
    """
    if targets.max_per_database is None and targets.max_answer_type_share is None:
        supply = candidates.count(by_corpus=bool(targets.corpora))
        usable = {(g.split, g.difficulty, g.corpus): count for g, count in supply.items()}
        counts = spread(usable, solution)
        for part in usable:
            yield from candidates.list_best(part, counts[part])
        return
    ranked = [entry for cell in sorted(CELLS) for entry in candidates.rank((*cell, ""))]
    yield from _pick_within_caps(ranked, solution, targets)


def _pick_within_caps(ranked: list[Ranked], solution: Solution, targets: Targets) -> list[int]:
    """The best candidates within the caps: the choice with the lowest sum of rounds, of what is
    unproved, and of hashes, which the solver finds.

    The hashes make it nearly impossible that two choices have the same sum. So the choice does not
    depend on the solver.
    """
    from ortools.sat.python import cp_model

    ranked = list(_drop_hopeless(ranked, solution, targets))
    model = cp_model.CpModel()
    is_picked = [model.new_bool_var("") for _ in ranked]

    def count_by(*fields: str) -> Iterator[tuple[tuple[str, ...], cp_model.LinearExpr]]:
        members = defaultdict(list)
        for candidate, variable in zip(ranked, is_picked, strict=True):
            members[tuple(getattr(candidate.group, field) for field in fields)].append(variable)
        return ((names, cp_model.LinearExpr.sum(some)) for names, some in members.items())

    for cell, count in count_by("split", "difficulty"):
        model.add(count == solution.counts[cell])
    for cell, count in count_by("split", "corpus") if solution.corpora else ():
        model.add(count == solution.corpora[cell])
    if targets.max_per_database is not None:
        for _, count in count_by("database_name"):
            model.add(count <= min(targets.max_per_database, len(ranked)))
    if targets.max_answer_type_share is not None:
        most = int(read_share(targets.max_answer_type_share) * solution.size)
        for _, count in count_by("answer_type"):
            model.add(count <= most)
    model.minimize(cp_model.LinearExpr.weighted_sum(is_picked, list(map(_find_cost, ranked))))
    solver = solve(model)
    return [
        candidate.number
        for candidate, variable in zip(ranked, is_picked, strict=True)
        if solver.value(variable)
    ]


def _find_cost(candidate: Ranked) -> int:
    unproved = candidate.turn * (MOST_UNPROVED + 1) + candidate.unproved
    return unproved * 256**_PLACE_BYTES + int.from_bytes(candidate.place[:_PLACE_BYTES])


def _drop_hopeless(ranked: list[Ranked], solution: Solution, targets: Targets) -> Iterator[Ranked]:
    """The candidates that may be picked. Candidates of one kind are the same to every target; one
    is dropped where better ones of its kind fill a cap or the cell."""
    kinds: Counter[Group] = Counter()
    cap, has_type_cap = targets.max_per_database, targets.max_answer_type_share is not None
    for candidate in ranked:
        group = candidate.group
        kind = group._replace(
            database_name="" if cap is None else group.database_name,
            answer_type=group.answer_type if has_type_cap else "",
            corpus=group.corpus if solution.corpora else "",
        )
        of_cell = solution.counts[group.split, group.difficulty]
        if kinds[kind] < (of_cell if cap is None else min(cap, of_cell)):
            kinds[kind] += 1
            yield candidate
