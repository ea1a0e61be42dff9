"""Selection inside the cells: which questions, once it is known how many of each cell.

Inside a cell the order is: first questions of every SQL template, then second ones, and so on, each
round by a keyed hash of the question. The order of two questions does not depend on what else
there is beyond their templates, so that one exclusion moves little.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from stages.selection.cells import Cell, CorpusCell, Group, Part, Solution, read_share
from stages.selection.integer_program import Constraint, solve
from stages.selection.spread import spread
from stages.selection.targets import Targets

_PLACE_BYTES = 3  # of a hash: enough to tell questions apart, few enough to add up exactly


class Candidate(NamedTuple):
    """A usable question, as far as selection looks at it."""

    question_id: str
    group: Group
    template: str
    canonical_sql: str  # or a hash of it

    @property
    def cell(self) -> Cell:
        return self.group.split, self.group.difficulty


def hash_key(question_id: str, seed: int) -> bytes:
    """A place in a shuffled order that depends on the question and the seed alone."""
    return hashlib.blake2b(f"{seed} {question_id}".encode(), digest_size=8).digest()


def order_by_hash(candidates: Iterable[Candidate], seed: int) -> list[Candidate]:
    """The candidates in the shuffled order."""
    return sorted(candidates, key=lambda c: (hash_key(c.question_id, seed), c.question_id))


def cap_paraphrases(
    candidates: Iterable[Candidate], *, most: int | None, seed: int
) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates that stay when at most so many share a database and canonical SQL, and the
    others; both in the order given.

    Raises:
        ValueError: where `most` is no whole number from 1.
    """
    candidates = list(candidates)
    if most is None:
        return candidates, []
    if type(most) is not int or most < 1:
        raise ValueError(f"max_per_canonical_sql: expected a whole number from 1, found {most!r}")
    same: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        same[candidate.group.database_name, candidate.canonical_sql].append(candidate)
    kept = {
        candidate.question_id
        for group in same.values()
        for candidate in order_by_hash(group, seed)[:most]
    }
    return (
        [candidate for candidate in candidates if candidate.question_id in kept],
        [candidate for candidate in candidates if candidate.question_id not in kept],
    )


def order_cell(candidates: Iterable[Candidate], *, seed: int) -> list[Candidate]:
    """The candidates of one cell, best first."""
    return [candidate for _, candidate in _rank(candidates, seed)]


def _rank(candidates: Iterable[Candidate], seed: int) -> list[tuple[int, Candidate]]:
    """The candidates of one cell, best first, each with its round."""
    rounds: Counter[str] = Counter()
    ranked = []
    for candidate in order_by_hash(candidates, seed):
        ranked.append((rounds[candidate.template], candidate))
        rounds[candidate.template] += 1
    return sorted(ranked, key=lambda entry: entry[0])


def pick(
    candidates: Iterable[Candidate], solution: Solution, targets: Targets, *, seed: int
) -> set[str]:
    """The ids of the chosen questions: of each cell, and of each corpus of a split, as many as the
    solution says."""
    candidates = list(candidates)
    if targets.max_per_database is None and targets.max_answer_type_share is None:
        parts: dict[Part, list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            corpus = candidate.group.corpus if targets.corpora else ""
            parts[(*candidate.cell, corpus)].append(candidate)
        usable = {part: len(members) for part, members in parts.items()}
        counts = spread(usable, solution)
        return {
            candidate.question_id
            for part, members in parts.items()
            for candidate in _take_best(members, counts[part], seed)
        }
    cells: dict[Cell, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        cells[candidate.cell].append(candidate)
    ranked = [entry for cell in sorted(cells) for entry in _rank(cells[cell], seed)]
    return _pick_within_caps(ranked, solution, targets, seed)


def _take_best(members: list[Candidate], count: int, seed: int) -> list[Candidate]:
    """So many of one cell, best first; in any order where all are taken."""
    return members if count == len(members) else order_cell(members, seed=seed)[:count]


def _pick_within_caps(
    ranked: list[tuple[int, Candidate]], solution: Solution, targets: Targets, seed: int
) -> set[str]:
    """The best ones that also keep the caps: lowest in sum by round and hash, found by a solver.

    The hashes make two choices of the same sum as good as impossible, so that the solver has
    nothing of its own to decide.
    """
    cells: dict[Cell, dict[int, int]] = defaultdict(dict)
    corpora: dict[CorpusCell, dict[int, int]] = defaultdict(dict)
    databases: dict[str, dict[int, int]] = defaultdict(dict)
    answer_types: dict[str, dict[int, int]] = defaultdict(dict)
    objective = {}
    for index, (turn, candidate) in enumerate(ranked):
        cells[candidate.cell][index] = 1
        corpora[candidate.group.split, candidate.group.corpus][index] = 1
        databases[candidate.group.database_name][index] = 1
        answer_types[candidate.group.answer_type][index] = 1
        place = int.from_bytes(hash_key(candidate.question_id, seed)[:_PLACE_BYTES])
        objective[index] = -(turn * 256**_PLACE_BYTES + place)
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
    return {c.question_id for (_, c), value in zip(ranked, values, strict=True) if value}
