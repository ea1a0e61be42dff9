"""Integer program: the largest selection under a cap on answer types, found by a solver.

Such a cap ties all cells together, so that answerkey.selection.allocations cannot look at every
case; nor where databases have a cap, corpora have shares, and two corpora ask about one database.
There is a whole number for each group of questions that a target tells apart. What the solver finds
is checked exactly; that nothing is larger is the solver's word, and with hundreds of thousands of
questions it may be off by a few.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import NamedTuple

from answerkey.core.cells import (
    CELLS,
    Cell,
    CorpusCell,
    Group,
    Solution,
    list_corpus_cells,
    read_share,
)
from answerkey.core.param_types import DATASET, SPLIT
from answerkey.core.question import DIFFICULTIES, EVAL, SPLITS
from answerkey.core.sections import Targets


class Constraint(NamedTuple):
    """lower <= sum of coefficient x variable <= upper; None: no such side."""

    name: str
    coefficients: dict[int, int]
    lower: int | None
    upper: int | None


class Share(NamedTuple):
    """A share that is asked for: the variables counted, and those counted among."""

    name: str
    part: dict[int, int]
    whole: dict[int, int]
    share: Fraction


def find_by_program(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest numbers of questions, chosen among those of that size as by find_allocation."""
    program = Program(supply, targets)
    if not program.groups:
        corpora = dict.fromkeys(list_corpus_cells(targets.corpora), 0)
        return Solution(0, dict.fromkeys(CELLS, 0), 0, corpora)
    size, bound = program.maximize(program.ones)
    program.fix("size", program.ones, size)
    cells = [(cell, program.members(cell)) for cell in CELLS]
    corpora = [
        (cell, program.members_of_corpus(cell)) for cell in list_corpus_cells(targets.corpora)
    ]
    if targets.corpora and targets.difficulty_shares is None:
        program.settle_shares(program.share_of_eval() + program.shares_of_corpora())
        found = {"corpora": program.settle(corpora), "cells": program.settle(cells)}
    else:
        scope = targets.difficulty_shares_of
        program.settle_shares(program.share_of_eval() + program.shares_of_levels(scope))
        if scope == DATASET:
            program.settle_shares(program.shares_of_levels(SPLIT))
        found = {"cells": program.settle(cells)}
        program.settle_shares(program.shares_of_corpora())
        found["corpora"] = program.settle(corpora)
    return Solution(size, found["cells"], bound, found["corpora"])


def find_size_by_program(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of `find_by_program`, without what it is made of."""
    program = Program(supply, targets)
    return program.maximize(program.ones)[0] if program.groups else 0


class Program:
    """The integer program: a variable a group, capped by its supply, and the constraints."""

    def __init__(self, supply: Mapping[Group, int], targets: Targets) -> None:
        self.targets = targets
        merged: Counter[Group] = Counter()
        for group, count in supply.items():
            merged[self._merge(group)] += count
        self.groups = sorted(group for group, count in merged.items() if count)
        self.upper = [merged[group] for group in self.groups]
        self.ones = dict.fromkeys(range(len(self.groups)), 1)
        self.constraints = list(self._constraints())

    def _merge(self, group: Group) -> Group:
        """The group without what no cap looks at."""
        has_database_cap = self.targets.max_per_database is not None
        has_type_cap = self.targets.max_answer_type_share is not None
        return group._replace(
            database_name=group.database_name if has_database_cap else "",
            answer_type=group.answer_type if has_type_cap else "",
            corpus=group.corpus if self.targets.corpus_shares else "",
        )

    def members(self, cell: Cell) -> dict[int, int]:
        """The variables of a cell, each with coefficient 1."""
        return {
            index: 1
            for index, group in enumerate(self.groups)
            if (group.split, group.difficulty) == cell
        }

    def members_of_corpus(self, cell: CorpusCell) -> dict[int, int]:
        """The variables of a corpus in a split, each with coefficient 1."""
        return {
            index: 1
            for index, group in enumerate(self.groups)
            if (group.split, group.corpus) == cell
        }

    def share_of_eval(self) -> list[Share]:
        """The share of eval, if it is asked for."""
        if self.targets.eval_share is None:
            return []
        part = {i: 1 for i, group in enumerate(self.groups) if group.split == EVAL}
        return [Share("share of eval", part, self.ones, read_share(self.targets.eval_share))]

    def shares_of_levels(self, scope: str) -> list[Share]:
        """The shares of difficulties in the dataset or in each split, if they are asked for."""
        shares = self.targets.difficulty_shares
        if shares is None:
            return []
        if scope == SPLIT:
            return [self._share(cell, self.members(cell), shares[cell[1]]) for cell in CELLS]
        parts = [
            (level, {i: 1 for split in SPLITS for i in self.members((split, level))})
            for level in DIFFICULTIES
        ]
        return [
            Share(f"share of {level}", part, self.ones, read_share(shares[level]))
            for level, part in parts
        ]

    def shares_of_corpora(self) -> list[Share]:
        """The shares of corpora, if they are asked for."""
        shares = self.targets.corpus_shares
        return [
            self._share(cell, self.members_of_corpus(cell), shares[cell[1]])
            for cell in list_corpus_cells(self.targets.corpora)
        ]

    def _share(self, cell: tuple[str, str], part: dict[int, int], share: float) -> Share:
        whole = {i: 1 for i, group in enumerate(self.groups) if group.split == cell[0]}
        return Share(f"share of {cell[0]} {cell[1]}", part, whole, read_share(share))

    def _constraints(self) -> Iterator[Constraint]:
        targets = self.targets
        tolerance = read_share(targets.tolerance)
        shares = [
            *self.share_of_eval(),
            *self.shares_of_levels(targets.difficulty_shares_of),
            *self.shares_of_corpora(),
        ]
        for name, part, whole, share in shares:
            yield _compare(f"{name}, at most", part, whole, share + tolerance, upper=0)
            yield _compare(f"{name}, at least", part, whole, share - tolerance, lower=0)
        if targets.max_questions is not None:
            yield Constraint("max_questions", self.ones, None, targets.max_questions)
        if targets.max_per_database is not None:
            for name, part in self._parts("database_name"):
                yield Constraint(f"max_per_database, {name}", part, None, targets.max_per_database)
        if targets.max_answer_type_share is not None:
            share = read_share(targets.max_answer_type_share)
            for name, part in self._parts("answer_type"):
                yield _compare(f"max_answer_type_share, {name}", part, self.ones, share, upper=0)

    def _parts(self, attribute: str) -> list[tuple[str, dict[int, int]]]:
        """The variables of each database or answer type, by name; nothing caps those without one,
        which stand for no real question."""
        parts: dict[str, dict[int, int]] = defaultdict(dict)
        for index, group in enumerate(self.groups):
            parts[getattr(group, attribute)][index] = 1
        return sorted((name, part) for name, part in parts.items() if name)

    def fix(self, name: str, coefficients: dict[int, int], value: int) -> None:
        """From now on, a sum of variables has this value."""
        self.constraints.append(Constraint(name, coefficients, value, value))

    def settle(
        self, parts: list[tuple[tuple[str, str], dict[int, int]]]
    ) -> dict[tuple[str, str], int]:
        """The most that the variables of each part in turn can add up to; from now on they do."""
        counts = {}
        for cell, members in parts:
            counts[cell], _ = self.maximize(members) if members else (0, 0)
            self.fix(" ".join(cell), members, counts[cell])
        return counts

    def settle_shares(self, shares: list[Share]) -> None:
        """From now on, these shares are as near to what was asked for as they can be: the sum over
        them of how many questions each is off."""
        first = len(self.upper)
        scale = lcm(*(share.denominator for *_, share in shares))
        for offset, (name, part, whole, share) in enumerate(shares):
            # The variable at `first + offset` is how far the share is off, times the scale.
            factor = scale // share.denominator
            off = _compare(f"{name}, off", part, whole, share).coefficients
            for sign in (factor, -factor):
                coefficients = {index: sign * value for index, value in off.items()}
                coefficients[first + offset] = -1
                self.constraints.append(Constraint(f"{name}, off", coefficients, None, 0))
        self.upper = self.upper + [None] * len(shares)
        if shares:
            off = {first + offset: -1 for offset in range(len(shares))}
            distance, _ = self.maximize(off)
            self.fix("distance from the shares", off, distance)

    def maximize(self, objective: dict[int, int]) -> tuple[int, int]:
        """The largest value of a sum of variables, and the solver's proof: no larger one exists."""
        values, bound = solve(self.upper, self.constraints, objective)
        return sum(factor * values[index] for index, factor in objective.items()), bound


def solve(
    upper: list[int | None], constraints: list[Constraint], objective: dict[int, int]
) -> tuple[list[int], int]:
    """Whole numbers from 0 to `upper` that meet the constraints and maximize the objective, and a
    bound that no such numbers exceed.

    Raises:
        ArithmeticError: where the solver fails, or what it says does not hold exactly.
    """
    if not upper:
        return [], 0
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    costs = np.zeros(len(upper))
    for index, factor in objective.items():
        costs[index] = -factor
    rows = [i for i, constraint in enumerate(constraints) for _ in constraint.coefficients]
    columns = [index for constraint in constraints for index in constraint.coefficients]
    factors = [factor for constraint in constraints for factor in constraint.coefficients.values()]
    matrix = coo_array((factors, (rows, columns)), shape=(len(constraints), len(upper)))
    lower_sides = [-np.inf if c.lower is None else c.lower for c in constraints]
    upper_sides = [np.inf if c.upper is None else c.upper for c in constraints]
    found = milp(
        costs,
        integrality=np.ones(len(upper)),
        bounds=Bounds(0, [np.inf if value is None else value for value in upper]),
        constraints=LinearConstraint(matrix.tocsr(), lower_sides, upper_sides),
        options={"mip_rel_gap": 0.0},
    )
    if not found.success:
        raise ArithmeticError(f"The solver found no selection: {found.message}")
    values = [round(value) for value in found.x]
    for constraint in constraints:
        total = sum(factor * values[i] for i, factor in constraint.coefficients.items())
        is_low = constraint.lower is not None and total < constraint.lower
        if is_low or (constraint.upper is not None and total > constraint.upper):
            raise ArithmeticError(f"The solver's selection breaks {constraint.name}: {total}")
    dual = found.mip_dual_bound if found.mip_dual_bound is not None else found.fun
    return values, int(np.floor(-dual + 1e-6))


def _compare(
    name: str,
    part: dict[int, int],
    whole: dict[int, int],
    share: Fraction,
    *,
    lower: int | None = None,
    upper: int | None = None,
) -> Constraint:
    """part - share x whole, scaled to whole numbers, within lower and upper."""
    coefficients: dict[int, int] = {}
    for index in {**whole, **part}:
        value = part.get(index, 0) * share.denominator - whole.get(index, 0) * share.numerator
        if value:
            coefficients[index] = value
    return Constraint(name, coefficients, lower, upper)
