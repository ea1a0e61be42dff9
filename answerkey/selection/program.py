"""The largest selection that meets the targets, by integer programs that CP-SAT solves exactly: how
many questions of each part, then which ones.

Questions that no target tells apart are one number of the program. The solver proves each step
(https://developers.google.com/optimization/cp/cp_solver), with one worker, so that every machine
finds the same numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from answerkey.base.records import DIFFICULTIES, SPLITS, digest_text, read_share
from answerkey.sections.select_questions import DATASET, AskedShare, Targets

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, IntVar, LinearExpr

# In this order, which decides between selections that are equally good.
CELLS = tuple(product(SPLITS, DIFFICULTIES))
MOST_UNPROVED = 100
PART = ["split", "difficulty", "corpus"]
_PLACE_BYTES = 3  # of a hash: enough to tell questions apart, few enough to add up exactly


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
        asked_shares = [
            AskedShare({**cell, "corpus": name}, cell, share)
            for cell in cells
            for name, share in sorted((targets.corpus_shares or {}).items())
        ]
        program.approach(asked_shares)
        cells = [asked.part for asked in asked_shares]
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

    def maximize(self, objective: LinearExpr) -> int:
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


# The picked questions: which ones, once it is known how many of each part.
#
# A part is a split and a difficulty, and a corpus if corpora have shares. In each part the first
# questions of every SQL template come first, then the second ones, and so on. In each such round
# those come first whose test suite rejects most wrong queries. A keyed hash decides between equals,
# so that one exclusion moves little.


def hash_key(question_id: str, seed: int) -> bytes:
    """A place in a shuffled order that depends on the question and the seed alone."""
    return digest_text(f"{seed} {question_id}")


def count_unproved(suite_score: float | None) -> int:
    """Of a hundred wrong queries near gold SQL, those that the test suite takes for right; all if
    the question has no score.

    >>> count_unproved(0.98), count_unproved(None)
    (2, 100)
    """
    return MOST_UNPROVED - round(MOST_UNPROVED * (suite_score or 0))


def order_candidates(usable: pd.DataFrame, *, seed: int, by_corpus: bool) -> pd.DataFrame:
    """The usable questions, those that prove most first; `corpus` is "" if no target asks for it.

    `unproved` and `place` are the columns that it sorts by.
    """
    hashes = [hash_key(question_id, seed) for question_id in usable["question_id"]]
    ordered = usable.assign(
        unproved=[count_unproved(score) for score in usable["suite_score"]],
        place=pd.Series(hashes, index=usable.index, dtype=object),
    )
    if not by_corpus:
        ordered["corpus"] = ""
    return ordered.sort_values(["unproved", "place", "question_id"])


def find_paraphrases(ordered: pd.DataFrame, most: int | None) -> pd.Index:
    """The questions beyond the first `most` of their database and canonical SQL."""
    if most is None:
        return ordered.index[:0]
    turns = ordered.groupby(["database_name", "canonical_sql"]).cumcount()
    return ordered.index[turns >= most]


def rank_candidates(ordered: pd.DataFrame) -> pd.DataFrame:
    """The candidates in rounds, of which `turn` is the number: the first question of every template
    in its part, the second ones, and so on."""
    turns = ordered.groupby([*PART, "template"]).cumcount()
    return ordered.assign(turn=turns).sort_values("turn", kind="stable")


def pick(ordered: pd.DataFrame, taken: Mapping[Group, int], targets: Targets) -> pd.Index:
    """The picked questions, of each part as many as are taken, by their index in the table."""
    ranked = rank_candidates(ordered)
    counts: dict[Hashable, int] = {
        (part.split, part.difficulty, part.corpus): count for part, count in taken.items()
    }
    if (cap := targets.max_per_database) is not None:  # more of one kind are never picked
        kinds = ranked.groupby([*PART, "database_name", "answer_type"])
        ranked = ranked[kinds.cumcount() < min(cap, len(ranked))]
    if cap is not None or targets.max_answer_type_share is not None:
        return ranked.index[_pick_within_caps(ranked, counts, targets)]
    wanted = [counts[part] for part in ranked[PART].itertuples(index=False, name=None)]
    return ranked.index[ranked.groupby(PART).cumcount() < wanted]


def _pick_within_caps(
    ranked: pd.DataFrame, counts: Mapping[Hashable, int], targets: Targets
) -> list[bool]:
    """Whether each is picked: the choice with the lowest sum of rounds, of what is unproved, and of
    hashes. Hardly any two choices have the same sum, so that it is not the solver that chooses."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    is_picked = [model.new_bool_var("") for _ in range(len(ranked))]

    def count_by(names: list[str]) -> Iterator[tuple[Hashable, cp_model.LinearExpr]]:
        for key, rows in ranked.groupby(names).indices.items():
            yield key, cp_model.LinearExpr.sum([is_picked[row] for row in rows])

    for part, count in count_by(PART):
        model.add(count == counts[part])
    if targets.max_per_database is not None:
        for _, count in count_by(["database_name"]):
            model.add(count <= min(targets.max_per_database, len(ranked)))
    if targets.max_answer_type_share is not None:
        most = int(read_share(targets.max_answer_type_share) * sum(counts.values()))
        for _, count in count_by(["answer_type"]):
            model.add(count <= most)
    columns = (ranked[name] for name in ("turn", "unproved", "place"))
    costs = [
        (turn * (MOST_UNPROVED + 1) + unproved) * 256**_PLACE_BYTES
        + int.from_bytes(digest[:_PLACE_BYTES])
        for turn, unproved, digest in zip(*columns, strict=True)
    ]
    model.minimize(cp_model.LinearExpr.weighted_sum(is_picked, costs))
    solver = solve(model)
    return [bool(solver.value(variable)) for variable in is_picked]
