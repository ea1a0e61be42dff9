"""Integer program: the largest selection under all targets, exact at every size.

It has a whole number for each part: the questions of one split, difficulty, corpus and answer type,
as far as a target tells them apart. CP-SAT computes in whole numbers, and proves that nothing is
larger (https://developers.google.com/optimization/cp/cp_solver).

Whether databases can give so many questions of each part under a cap is a question of flow. Where
the largest flow falls short, its smallest cut names parts that together ask for more than their
databases give; that is one more constraint (L. R. Ford and D. R. Fulkerson, 1956).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from answerkey.dataset import (
    CELLS,
    Cell,
    CorpusCell,
    Group,
    Solution,
    count_cells,
    list_corpus_cells,
)
from answerkey.params import DATASET, Targets, check_value
from answerkey.records import DIFFICULTIES, EVAL, SPLITS, read_share

if TYPE_CHECKING:
    from ortools.graph.python.max_flow import SimpleMaxFlow
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar, LinearExpr

_SOURCE, _SINK = 0, 1

Name = TypeVar("Name", bound=tuple[str, ...])


class Wish(NamedTuple):
    """A share that is asked for: a number of questions, and how many they are a share of."""

    part: IntVar
    share: float
    whole: IntVar | int


def find_by_program(supply: Mapping[Group, int], targets: Targets) -> Solution:
    """The selection of find_largest, by the solver."""
    program = Program(supply, targets)
    size = program.maximize(program.count())
    if targets.corpora and targets.difficulty_shares is None:
        program.approach([*program.wish_eval(size), *program.wish_corpora(sizes={})])
        corpora = program.settle(program.count_corpora())
        return Solution(size, program.settle(program.count_cells()), corpora)
    if targets.difficulty_shares_of == DATASET:
        program.approach([*program.wish_eval(size), *program.wish_levels(size)])
        program.approach(program.wish_cells())
    else:
        program.approach([*program.wish_eval(size), *program.wish_cells()])
    cells = program.settle(program.count_cells())
    program.approach(program.wish_corpora(sizes=add_splits(cells)))
    return Solution(size, cells, program.settle(program.count_corpora()))


def add_splits(cells: Mapping[Cell, int]) -> Counter[str]:
    """How many questions each split holds, from those of its cells."""
    sizes: Counter[str] = Counter()
    for (split, _), count in cells.items():
        sizes[split] += count
    return sizes


def find_size_by_program(supply: Mapping[Group, int], targets: Targets) -> int:
    """The size of the largest selection, without its numbers."""
    program = Program(supply, targets)
    return program.maximize(program.count())


def solve(model: CpModel) -> CpSolver:
    """The solver with the best values of a model's variables, proved to be the best.

    Raises:
        ArithmeticError: where there are none.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1  # the same on every machine, and without threads
    # Presolve replaces sums of parts by their parts, and then no first selection is found.
    solver.parameters.cp_model_presolve = False
    status = solver.status_name(solver.solve(model))
    if status != "OPTIMAL":
        raise ArithmeticError(f"The solver found no selection: {status}. {model.validate()}")
    return solver


class Program:
    """A whole number for each part of the supply, within all targets but min_questions."""

    def __init__(self, supply: Mapping[Group, int], targets: Targets) -> None:
        from ortools.sat.python import cp_model

        self.targets = targets
        # Of each part, which is a group without a database: how many each database has.
        self.held: dict[Group, Counter[str]] = defaultdict(Counter)
        for group, count in supply.items():
            self.held[self._find_part(group)][group.database_name] += count
        self.total = sum(supply.values())
        self._model = cp_model.CpModel()
        self._numbers = {
            part: self._model.new_int_var(0, self._find_most([part]), "")
            for part in sorted(self.held)
        }
        self._counts: dict[tuple[tuple[str, str], ...], IntVar] = {}
        self._sum = cp_model.LinearExpr.sum
        self._flow: SimpleMaxFlow | None = None
        self._add_targets()

    def _find_part(self, group: Group) -> Group:
        has_type_cap = self.targets.max_answer_type_share is not None
        return group._replace(
            database_name="",
            answer_type=group.answer_type if has_type_cap else "",
            corpus=group.corpus if self.targets.corpora else "",
        )

    def count(self, **names: str) -> IntVar:
        """How many questions the parts have that are named so, as in count(split="train").

        It is a number of its own, so that the solver rounds what a share makes of it.
        """
        key = tuple(sorted(names.items()))
        if key not in self._counts:
            numbers = [
                number
                for part, number in self._numbers.items()
                if all(getattr(part, field) == name for field, name in key)
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
            for name in sorted({part.answer_type for part in self.held} - {""}):
                part = self.count(answer_type=name)
                self._model.add(part * most.denominator <= size * most.numerator)

    def _keep_share(self, part: LinearExpr, whole: LinearExpr, value: float) -> None:
        share, tolerance = read_share(value), read_share(self.targets.tolerance)
        low, high = max(share - tolerance, Fraction(0)), min(share + tolerance, Fraction(1))
        self._model.add(part * low.denominator >= whole * low.numerator)
        self._model.add(part * high.denominator <= whole * high.numerator)

    def maximize(self, objective: LinearExpr) -> int:
        """The largest value that a number can have; it keeps this value."""
        self._model.maximize(objective)
        solver = solve(self._model)
        while parts := self._find_cut(solver):
            self._model.add(self._sum([self._numbers[p] for p in parts]) <= self._find_most(parts))
            solver = solve(self._model)
        value = solver.value(objective)
        self._model.add(objective == value)
        return value

    def wish_eval(self, size: int) -> Iterator[Wish]:
        """What the share of eval asks for in a selection of this size."""
        if self.targets.eval_share is not None:
            yield Wish(self.count(split=EVAL), self.targets.eval_share, size)

    def wish_levels(self, size: int) -> Iterator[Wish]:
        """What the shares of difficulties ask for in a selection of this size."""
        for level, share in (self.targets.difficulty_shares or {}).items():
            yield Wish(self.count(difficulty=level), share, size)

    def wish_cells(self) -> Iterator[Wish]:
        """What the shares of difficulties ask for in each split."""
        shares = self.targets.difficulty_shares
        for (split, level), count in self.count_cells().items() if shares else ():
            yield Wish(count, shares[level], self.count(split=split))

    def wish_corpora(self, *, sizes: Mapping[str, int]) -> Iterator[Wish]:
        """What the shares of corpora ask for in each split, of which the size may be known."""
        for (split, corpus), count in self.count_corpora().items():
            whole = sizes.get(split, self.count(split=split))
            yield Wish(count, self.targets.corpus_shares[corpus], whole)

    def approach(self, wishes: Iterable[Wish]) -> None:
        """Bring numbers as near to what is wished for as they can be: what they are off, added up,
        is the least that it can be."""
        wishes = list(wishes)
        if not wishes:
            return
        shares = [read_share(wish.share) for wish in wishes]
        scale = lcm(*(share.denominator for share in shares))
        distances = []
        for (part, _, whole), share in zip(wishes, shares, strict=True):
            # Times the denominator of this share alone: the solver is slow with large factors.
            up, down = share.numerator, share.denominator
            off = self._model.new_int_var(0, down * (self.total + 1), "")
            self._model.add(off >= part * down - whole * up)
            self._model.add(off >= whole * up - part * down)
            if isinstance(whole, int):
                # Between the whole numbers beside the wish: without it, a half is nearer than both.
                goal, rest = divmod(whole * up, down)
                self._model.add(off >= (part - goal) * (down - 2 * rest) + rest)
            distances.append(off * (scale // down))
        self.maximize(-self._sum(distances))

    def count_cells(self) -> dict[Cell, IntVar]:
        return {(split, level): self.count(split=split, difficulty=level) for split, level in CELLS}

    def count_corpora(self) -> dict[CorpusCell, IntVar]:
        cells = list_corpus_cells(self.targets.corpora)
        return {(split, corpus): self.count(split=split, corpus=corpus) for split, corpus in cells}

    def settle(self, counts: Mapping[Name, IntVar]) -> dict[Name, int]:
        """The largest value of each number, one after another; they keep these values."""
        return {name: self.maximize(count) for name, count in counts.items()}

    def _find_most(self, parts: Iterable[Group]) -> int:
        """How many questions databases give to some parts together at most. Nothing caps those
        without a name, which stand for no database."""
        databases = sum((self.held[part] for part in parts), Counter())
        cap = self.targets.max_per_database
        return sum(
            count if cap is None or not name else min(cap, count)
            for name, count in databases.items()
        )

    def _find_cut(self, solver: CpSolver) -> list[Group]:
        """Parts that together ask for more than their databases give; none where the numbers found
        fit."""
        if self.targets.max_per_database is None:
            return []
        if self._flow is None:
            self._flow = self._make_flow()
        wanted = {part: solver.value(number) for part, number in self._numbers.items()}
        for arc, count in enumerate(wanted.values()):
            self._flow.set_arc_capacity(arc, count)
        self._flow.solve(_SOURCE, _SINK)
        if self._flow.optimal_flow() == sum(wanted.values()):
            return []
        cut = set(self._flow.get_source_side_min_cut())
        return [part for node, part in enumerate(wanted, start=2) if node in cut]

    def _make_flow(self) -> SimpleMaxFlow:
        """The flow from parts over databases. Its first arcs, one for each part, have the wanted
        numbers."""
        from ortools.graph.python.max_flow import SimpleMaxFlow

        flow = SimpleMaxFlow()
        nodes: dict[str, int] = {}
        parts = dict(enumerate(self._numbers, start=2))
        for node in parts:
            flow.add_arc_with_capacity(_SOURCE, node, 0)
        for node, part in parts.items():
            for name, count in self.held[part].items():
                database = nodes.setdefault(name, len(parts) + len(nodes) + 2)
                flow.add_arc_with_capacity(node, database, count)
        cap = min(self.targets.max_per_database, self.total)
        for name, database in nodes.items():
            flow.add_arc_with_capacity(database, _SINK, cap if name else self.total)
        return flow


# Targets: what a selection must meet, and the largest selection that does.


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
