"""The largest selection that meets the targets, by an integer program that CP-SAT solves exactly.

Questions that no target tells apart are one number of the program. The solver proves each step
(https://developers.google.com/optimization/cp/cp_solver), with one worker, so that every machine
finds the same numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

from answerkey.dataset import (
    CELLS,
    Cell,
    CorpusCell,
    Group,
    Part,
    Solution,
    count_cells,
    list_corpus_cells,
)
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, read_share
from answerkey.sections.select_questions import DATASET, Targets

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar, LinearExpr

TARGET_NAMES = (
    "difficulty_shares",
    "corpus_shares",
    "eval_share",
    "max_questions",
    "max_per_database",
    "max_answer_type_share",
)


class Wish(NamedTuple):
    """A share that is asked for: a number of questions, and what it is a share of."""

    part: IntVar
    share: Fraction
    whole: IntVar | int


def find_largest(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The largest selection that meets the targets. min_questions is not looked at.

    >>> supply = {Group(split, level, "a", "list"): 10 for split, level in CELLS}
    >>> shares = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
    >>> find_largest(supply, Targets(difficulty_shares=shares, eval_share=0.5)).counts
    ... # doctest: +NORMALIZE_WHITESPACE
    {('train', 'easy'): 10, ('train', 'medium'): 10, ('train', 'hard'): 5,
     ('eval', 'easy'): 10, ('eval', 'medium'): 10, ('eval', 'hard'): 5}

    Of several with that size, it is the one whose shares are nearest to the targets, counted in
    questions: the shares of eval and of the difficulties first, then the difficulties of each
    split, then the corpora. Last, the first cells are as large as they can be. The order of the
    supply changes nothing.
    """
    if _takes_everything(targets):
        return _take_all(supply)
    program = Program(supply, targets)
    size = program.maximize(program.count())
    of_eval = program.wish_eval(size)
    if targets.corpora and targets.difficulty_shares is None:
        program.approach([*of_eval, *program.wish_corpora()])
        corpora = program.settle_corpora()
        counts = program.settle_cells()
    else:
        if targets.difficulty_shares_of == DATASET:
            program.approach([*of_eval, *program.wish_levels(size)])
            program.approach(program.wish_cells())
        else:
            program.approach([*of_eval, *program.wish_cells()])
        counts = program.settle_cells()
        program.approach(program.wish_corpora(counts))
        corpora = program.settle_corpora()
    return Solution(size, counts, corpora, program.settle_parts(counts, corpora))


def find_size(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without what it holds."""
    if _takes_everything(targets):
        return sum(supply.values())
    program = Program(supply, targets)
    return program.maximize(program.count())


def _takes_everything(targets: Targets) -> bool:
    return all(getattr(targets, name) is None for name in TARGET_NAMES)


def _take_all(supply: Mapping[Group, int]) -> Solution:
    counts = count_cells(supply)
    parts = {(*cell, ""): count for cell, count in counts.items()}
    return Solution(sum(supply.values()), counts, {}, parts)


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


class Program:
    """A number of questions for each group that targets tell apart, within all targets."""

    def __init__(self, supply: Mapping[Group, int], targets: Targets) -> None:
        from ortools.sat.python import cp_model

        self.targets = targets
        self.total = sum(supply.values())
        self._model = cp_model.CpModel()
        self._sum = cp_model.LinearExpr.sum
        # Of each split, difficulty, corpus and answer type: its numbers.
        self._numbers: dict[Group, list[IntVar]] = defaultdict(list)
        self._counts: dict[tuple[tuple[str, str], ...], IntVar] = {}
        self._add_numbers(supply)
        self._add_targets()

    def _add_numbers(self, supply: Mapping[Group, int]) -> None:
        """A number for each group of each kind of databases.

        Databases with the same counts are of one kind. Whatever their sum may be, it can be dealt
        out evenly, so that each of them is within its cap and its counts.
        """
        cap = self.targets.max_per_database
        has_type_cap = self.targets.max_answer_type_share is not None
        databases: dict[str, Counter[Group]] = defaultdict(Counter)
        for group, count in supply.items():
            is_capped = cap is not None and group.database_name
            part = group._replace(
                database_name="",
                answer_type=group.answer_type if has_type_cap else "",
                corpus=group.corpus if self.targets.corpora else "",
            )
            databases[group.database_name if is_capped else ""][part] += count
        kinds = Counter(
            (bool(name), tuple(sorted((p, min(n, cap) if name else n) for p, n in counts.items())))
            for name, counts in databases.items()
        )
        for (is_capped, counts), times in sorted(kinds.items()):
            numbers = [self._model.new_int_var(0, times * count, "") for _, count in counts]
            for (part, _), number in zip(counts, numbers, strict=True):
                self._numbers[part].append(number)
            if is_capped:
                self._model.add(self._sum(numbers) <= min(times * cap, self.total))

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
            self._counts[key] = self._model.new_int_var(0, self.total, "")
            self._model.add(self._sum(numbers) == self._counts[key])
        return self._counts[key]

    def _add_targets(self) -> None:
        targets, size = self.targets, self.count()
        if targets.eval_share is not None:
            self._keep_share(self.count(split=EVAL), size, targets.eval_share)
        for level, share in (targets.difficulty_shares or {}).items():
            if targets.difficulty_shares_of == DATASET:
                self._keep_share(self.count(difficulty=level), size, share)
                continue
            for split in SPLITS:
                part = self.count(split=split, difficulty=level)
                self._keep_share(part, self.count(split=split), share)
        for split, corpus in list_corpus_cells(targets.corpora):
            part = self.count(split=split, corpus=corpus)
            self._keep_share(part, self.count(split=split), targets.corpus_shares[corpus])
        if targets.max_questions is not None:
            self._model.add(size <= min(targets.max_questions, self.total))
        if targets.max_answer_type_share is not None:
            most = read_share(targets.max_answer_type_share)
            for name in sorted({part.answer_type for part in self._numbers} - {""}):
                part = self.count(answer_type=name)
                self._model.add(part * most.denominator <= size * most.numerator)

    def _keep_share(self, part: LinearExpr, whole: LinearExpr, value: float) -> None:
        share, tolerance = read_share(value), read_share(self.targets.tolerance)
        low, high = max(share - tolerance, Fraction(0)), min(share + tolerance, Fraction(1))
        self._model.add(part * low.denominator >= whole * low.numerator)
        self._model.add(part * high.denominator <= whole * high.numerator)

    def maximize(self, objective: LinearExpr) -> int:
        """The largest value that a number can have. It keeps this value from then on."""
        self._model.maximize(objective)
        value = solve(self._model).value(objective)
        self._model.add(objective == value)
        return value

    def wish_eval(self, size: int) -> list[Wish]:
        """What the share of eval asks for in a selection of this size."""
        if self.targets.eval_share is None:
            return []
        return [Wish(self.count(split=EVAL), read_share(self.targets.eval_share), size)]

    def wish_levels(self, size: int) -> list[Wish]:
        """What the shares of difficulties ask for in a selection of this size."""
        shares = self.targets.difficulty_shares or {}
        return [
            Wish(self.count(difficulty=level), read_share(share), size)
            for level, share in shares.items()
        ]

    def wish_cells(self) -> list[Wish]:
        """What the shares of difficulties ask for in each split."""
        shares = self.targets.difficulty_shares
        return [
            Wish(
                self.count(split=split, difficulty=level),
                read_share(shares[level]),
                self.count(split=split),
            )
            for split, level in (CELLS if shares else ())
        ]

    def wish_corpora(self, counts: Mapping[Cell, int] | None = None) -> list[Wish]:
        """What the shares of corpora ask for in each split, whose cells may be known."""
        return [
            Wish(
                self.count(split=split, corpus=corpus),
                read_share(self.targets.corpus_shares[corpus]),
                sum(counts[split, level] for level in DIFFICULTIES)
                if counts
                else self.count(split=split),
            )
            for split, corpus in list_corpus_cells(self.targets.corpora)
        ]

    def approach(self, wishes: Iterable[Wish]) -> None:
        """Make what the wishes are off, added up, the least that it can be."""
        wishes = list(wishes)
        if not wishes:
            return
        scale = lcm(*(wish.share.denominator for wish in wishes))
        distances = []
        for part, share, whole in wishes:
            # Times the denominator of this share alone: the solver is slow with large factors.
            up, down = share.numerator, share.denominator
            off = self._model.new_int_var(0, down * (self.total + 1), "")
            self._model.add(off >= part * down - whole * up)
            self._model.add(off >= whole * up - part * down)
            distances.append(off * (scale // down))
        self.maximize(-self._sum(distances))

    def settle_cells(self) -> dict[Cell, int]:
        """The largest value of each cell, one after another; they keep these values."""
        return {
            cell: self.maximize(self.count(split=cell[0], difficulty=cell[1])) for cell in CELLS
        }

    def settle_corpora(self) -> dict[CorpusCell, int]:
        """The same for each corpus in each split."""
        cells = list_corpus_cells(self.targets.corpora)
        return {cell: self.maximize(self.count(split=cell[0], corpus=cell[1])) for cell in cells}

    def settle_parts(
        self, counts: Mapping[Cell, int], corpora: Mapping[CorpusCell, int]
    ) -> dict[Part, int]:
        """How many questions each corpus gives to each cell: near to its part of the split, as far
        as it has them, so that a difficulty says little about the corpus."""
        if not corpora:
            return {(*cell, ""): count for cell, count in counts.items()}
        parts = {
            (*cell, corpus): self.count(split=cell[0], difficulty=cell[1], corpus=corpus)
            for cell in CELLS
            for corpus in self.targets.corpora
        }
        for split in SPLITS:
            whole = sum(counts[split, level] for level in DIFFICULTIES)
            self.approach(
                Wish(number, Fraction(corpora[split, corpus], whole), counts[split, level])
                for (name, level, corpus), number in parts.items()
                if name == split and whole
            )
        return {part: self.maximize(number) for part, number in parts.items()}
