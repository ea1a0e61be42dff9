"""Integer program: the largest selection under a cap on answer types, found by a solver.

Such a cap ties all cells together, so that stages.selection.allocations cannot look at every case.
There is a whole number for each group of questions that a target tells apart. What the solver finds
is checked exactly; that nothing is larger is the solver's word, and with hundreds of thousands of
questions it may be off by a few.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from stages.question import EVAL
from stages.selection.cells import CELLS, Cell, Group, Solution, read_share

if TYPE_CHECKING:
    from stages.selection.targets import Targets


class Constraint(NamedTuple):
    """lower <= sum of coefficient x variable <= upper; None: no such side."""

    name: str
    coefficients: dict[int, int]
    lower: int | None
    upper: int | None


def find_by_program(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest numbers of questions, chosen among those of that size as by find_allocation."""
    program = Program(supply, targets)
    if not program.groups:
        return Solution(0, dict.fromkeys(CELLS, 0), 0)
    size, bound = program.maximize(program.ones)
    program.fix("size", program.ones, size)
    program.settle_shares()
    counts = {}
    for cell in CELLS:
        members = program.members(cell)
        counts[cell], _ = program.maximize(members) if members else (0, 0)
        program.fix(f"{cell[0]} {cell[1]}", members, counts[cell])
    return Solution(size, counts, bound)


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
        )

    def members(self, cell: Cell) -> dict[int, int]:
        """The variables of a cell, each with coefficient 1."""
        return {
            index: 1
            for index, group in enumerate(self.groups)
            if (group.split, group.difficulty) == cell
        }

    def _shares(self) -> list[tuple[str, dict[int, int], dict[int, int], Fraction]]:
        """Each share asked for: its name, the variables counted, those counted among, the share."""
        found = []
        if self.targets.eval_share is not None:
            part = {i: 1 for i, group in enumerate(self.groups) if group.split == EVAL}
            found.append(("share of eval", part, self.ones, read_share(self.targets.eval_share)))
        if self.targets.difficulty_shares is not None:
            for cell in CELLS:
                whole = {i: 1 for i, group in enumerate(self.groups) if group.split == cell[0]}
                share = read_share(self.targets.difficulty_shares[cell[1]])
                found.append((f"share of {cell[0]} {cell[1]}", self.members(cell), whole, share))
        return found

    def _constraints(self) -> Iterator[Constraint]:
        targets = self.targets
        tolerance = read_share(targets.tolerance)
        for name, part, whole, share in self._shares():
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

    def settle_shares(self) -> None:
        """From now on, the shares are as near to what was asked for as they can be: the sum over
        them of how many questions each is off."""
        first = len(self.upper)
        shares = self._shares()
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
