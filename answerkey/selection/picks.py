"""Selection inside the cells: which questions, once it is known how many of each cell.

Inside a cell the order is: first questions of every SQL template, then second ones, and so on, each
round by a keyed hash of the question. The order of two questions does not depend on what else
there is beyond their templates, so that one exclusion moves little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from answerkey.core.cells import CELLS, Cell, CorpusCell, Solution, read_share
from answerkey.selection.candidates import Candidates, Ranked
from answerkey.selection.integer_program import Constraint, solve
from answerkey.selection.spread import spread
from answerkey.selection.targets import Targets

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
    """The best ones that also keep the caps: lowest in sum by round and hash, found by a solver.

    The hashes make two choices of the same sum as good as impossible, so that the solver has
    nothing of its own to decide.
    """
    cells: dict[Cell, dict[int, int]] = defaultdict(dict)
    corpora: dict[CorpusCell, dict[int, int]] = defaultdict(dict)
    databases: dict[str, dict[int, int]] = defaultdict(dict)
    answer_types: dict[str, dict[int, int]] = defaultdict(dict)
    objective = {}
    for index, candidate in enumerate(ranked):
        group = candidate.group
        cells[group.split, group.difficulty][index] = 1
        corpora[group.split, group.corpus][index] = 1
        databases[group.database_name][index] = 1
        answer_types[group.answer_type][index] = 1
        place = int.from_bytes(candidate.place[:_PLACE_BYTES])
        objective[index] = -(candidate.turn * 256**_PLACE_BYTES + place)
    constraints = [
        Constraint(" ".join(cell), members, solution.counts[cell], solution.counts[cell])
        for cell, members in cells.items()
    ]
    constraints += [
        Constraint(" ".join(cell), corpora[cell], count, count)
        for cell, count in solution.corpora.items()
    ]
    if targets.max_per_database is not None:
        constraints += [
            Constraint(name, members, None, targets.max_per_database)
            for name, members in databases.items()
        ]
    if targets.max_answer_type_share is not None:
        most = int(read_share(targets.max_answer_type_share) * solution.size)
        constraints += [
            Constraint(name, members, None, most) for name, members in answer_types.items()
        ]
    values, _ = solve([1] * len(ranked), constraints, objective)
    return [c.number for c, value in zip(ranked, values, strict=True) if value]
