"""The largest selection that meets the targets, by an integer program that CP-SAT solves exactly.

Questions that no target tells apart are one number of the program. The solver proves each step
(https://developers.google.com/optimization/cp/cp_solver), with one worker, so that every machine
finds the same numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from answerkey.base.records import DIFFICULTIES, SPLITS, read_share
from answerkey.sections.select_questions import DATASET, AskedShare, Targets

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar

# In this order, which decides between selections that are equally good.
CELLS = tuple(product(SPLITS, DIFFICULTIES))


class Group(NamedTuple):
    """Questions that no target tells apart; a field that no target asks for is ""."""

    split: str
    difficulty: str
    database_name: str = ""
    answer_type: str = ""
    corpus: str = ""


def count_by(groups: Mapping[Group, int], *fields: str) -> Counter[tuple[str, ...]]:
    """How many questions there are by some fields.

    >>> count_by({Group("train", "easy"): 7, Group("train", "hard"): 2}, "split")
    Counter({('train',): 9})
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for group, count in groups.items():
        counts[tuple(getattr(group, field) for field in fields)] += count
    return counts


def find_largest(supply: Mapping[Group, int], targets: Targets) -> dict[Group, int]:
    """The largest selection that meets the targets: how many questions of each split, difficulty
    and, if corpora have shares, corpus. min_questions is not looked at.

    >>> supply = {Group(split, level): 10 for split, level in CELLS}
    >>> shares = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
    >>> taken = find_largest(supply, Targets(difficulty_shares=shares, eval_share=0.5))
    >>> list(taken.values())
    [10, 10, 5, 10, 10, 5]

    Of several with that size, it is the one whose shares are nearest to the targets, counted in
    questions: the shares that are asked for first, then those of difficulties in each split, then
    those of corpora in each difficulty. Last, the first cells are as large as they can be. The
    order of the supply changes nothing.
    """
    program = _Program(supply, targets)
    program.maximize(program.count())
    program.approach(targets.list_shares())
    cells = [{"split": split, "difficulty": level} for split, level in CELLS]
    shares = targets.difficulty_shares
    if shares is not None and targets.difficulty_shares_of == DATASET:
        program.approach(
            AskedShare(cell, {"split": cell["split"]}, shares[cell["difficulty"]]) for cell in cells
        )
    if targets.corpora:
        asked = [
            AskedShare({**cell, "corpus": name}, cell, targets.corpus_shares[name])
            for cell in cells
            for name in targets.corpora
        ]
        program.approach(asked)
        cells = [one.part for one in asked]
    return {Group(**cell): program.maximize(program.count(**cell)) for cell in cells}


def find_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without what it holds."""
    program = _Program(supply, targets)
    return program.maximize(program.count())


def solve(model: CpModel) -> CpSolver:
    """The solver with the best values of a model's variables, proved to be the best.

    Raises:
        ArithmeticError: if there are none, or none were proved in the solver's own units of time.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Presolve replaces sums by what they add up. Of a million questions, half of which are asked
    # for, the solver then finds no first selection in 20 s; without it, all in 0.1 s.
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 2  # many databases under caps: three times as fast
    solver.parameters.max_deterministic_time = 600
    status = solver.status_name(solver.solve(model))
    if status != "OPTIMAL":
        raise ArithmeticError(f"The solver found no best selection: {status}. {model.validate()}")
    return solver


class _Program:
    """A number of questions for each group that targets tell apart, within all targets."""

    def __init__(self, supply: Mapping[Group, int], targets: Targets) -> None:
        from ortools.sat.python import cp_model

        self._total = sum(supply.values())
        self._model = cp_model.CpModel()
        self._sum = cp_model.LinearExpr.sum
        self._numbers: dict[Group, list[IntVar]] = defaultdict(list)
        self._counts: dict[tuple[tuple[str, str], ...], IntVar] = {}
        self._add_numbers(supply, targets)
        tolerance = read_share(targets.tolerance)
        for asked in targets.list_shares():
            part, whole, share = self._read(asked)
            low, high = max(share - tolerance, Fraction(0)), min(share + tolerance, Fraction(1))
            self._model.add(part * low.denominator >= whole * low.numerator)
            self._model.add(part * high.denominator <= whole * high.numerator)
        if targets.max_questions is not None:
            self._model.add(self.count() <= min(targets.max_questions, self._total))
        if targets.max_answer_type_share is not None:
            most = read_share(targets.max_answer_type_share)
            for name in sorted({part.answer_type for part in self._numbers}):
                part = self.count(answer_type=name)
                self._model.add(part * most.denominator <= self.count() * most.numerator)

    def _add_numbers(self, supply: Mapping[Group, int], targets: Targets) -> None:
        """A number for each group of each kind of databases.

        Databases with the same counts are of one kind. Whatever their sum may be, it can be dealt
        out evenly, so that each of them is within its cap and its counts.
        """
        cap = self._total if targets.max_per_database is None else targets.max_per_database
        databases: dict[str, Counter[Group]] = defaultdict(Counter)
        for group, count in supply.items():
            part = group._replace(
                database_name="",
                answer_type="" if targets.max_answer_type_share is None else group.answer_type,
                corpus=group.corpus if targets.corpora else "",
            )
            databases[group.database_name if cap < self._total else ""][part] += count
        kinds = Counter(
            tuple(sorted((part, min(count, cap)) for part, count in counts.items()))
            for counts in databases.values()
        )
        for counts, times in sorted(kinds.items()):
            numbers = [self._model.new_int_var(0, times * count, "") for _, count in counts]
            for (part, _), number in zip(counts, numbers, strict=True):
                self._numbers[part].append(number)
            self._model.add(self._sum(numbers) <= min(times * cap, self._total))

    def count(self, **names: str) -> IntVar:
        """How many questions are named so, as in count(split="train").

        It is a number of its own, so that the solver rounds what a share makes of it.
        """
        key = tuple(sorted(names.items()))
        if key not in self._counts:
            numbers = [
                number
                for part, numbers in self._numbers.items()
                if all(getattr(part, field) == name for field, name in key)
                for number in numbers
            ]
            self._counts[key] = self._model.new_int_var(0, self._total, "")
            self._model.add(self._sum(numbers) == self._counts[key])
        return self._counts[key]

    def _read(self, asked: AskedShare) -> tuple[IntVar, IntVar, Fraction]:
        return self.count(**asked.part), self.count(**asked.whole), read_share(asked.share)

    def maximize(self, objective: IntVar) -> int:
        """The largest value that a number can have. It keeps this value from then on."""
        self._model.maximize(objective)
        value = solve(self._model).value(objective)
        self._model.add(objective == value)
        return value

    def approach(self, shares: Iterable[AskedShare]) -> None:
        """Make what the shares are off, added up, the least that it can be."""
        wishes = list(map(self._read, shares))
        scale = lcm(*(share.denominator for _, _, share in wishes))
        distances = []
        for part, whole, share in wishes:
            # Times the denominator of this share alone: the solver is slow with large factors.
            up, down = share.numerator, share.denominator
            off = self._model.new_int_var(0, down * (self._total + 1), "")
            self._model.add(off >= part * down - whole * up)
            self._model.add(off >= whole * up - part * down)
            distances.append(off * (scale // down))
        if distances:
            self.maximize(-self._sum(distances))
