"""Find the largest selection that meets the targets, by integer programs that CP-SAT solves
exactly: first the number of questions of each part, then the questions.

Questions that no target distinguishes are one number of the program. The solver proves each step
(https://developers.google.com/optimization/cp/cp_solver) with one worker, so every machine finds
the same numbers.
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

# The order of cells decides between selections that are equally good.
CELLS = tuple(product(SPLITS, DIFFICULTIES))
MOST_UNPROVED = 100
PART = ["split", "difficulty", "corpus"]
_PLACE_BYTES = 3  # of a hash: enough to distinguish questions, few enough to add exactly


class Group(NamedTuple):
    """Questions that no target distinguishes. A field that no target names is ""."""

    split: str
    difficulty: str
    database_name: str = ""
    answer_type: str = ""
    corpus: str = ""


def count_by(groups: Mapping[Group, int], *fields: str) -> Counter[tuple[str, ...]]:
    """Count questions by some fields.

    >>> count_by({Group("train", "easy"): 7, Group("train", "hard"): 2}, "split")
    Counter({('train',): 9})
    """
    counts: Counter[tuple[str, ...]] = Counter()
    for group, count in groups.items():
        counts[tuple(getattr(group, field) for field in fields)] += count
    return counts


def find_largest(supply: Mapping[Group, int], targets: Targets) -> dict[Group, int]:
    """Return the largest selection that meets the targets: the number of questions of each split,
    difficulty and, if corpora have shares, corpus. min_questions is ignored.

    >>> supply = {Group(split, level): 10 for split, level in CELLS}
    >>> shares = {"easy": 0.4, "medium": 0.4, "hard": 0.2}
    >>> taken = find_largest(supply, Targets(difficulty_shares=shares, eval_share=0.5))
    >>> list(taken.values())
    [10, 10, 5, 10, 10, 5]

    Of several selections of that size, it is the one whose shares are nearest to the targets,
    counted in questions: first the shares of the targets, then those of difficulties in each split,
    then those of corpora in each difficulty. Last, the first cells are as large as possible. The
    order of the supply does not matter.
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
    """Return the size of the largest selection, without its questions."""
    program = _Program(supply, targets)
    return program.maximize(program.count())


def solve(model: CpModel) -> CpSolver:
    """Return the solver with the best values of a model's variables, proved to be the best.

    Raises:
        ArithmeticError: there are none, or no proof was found in the solver's own units of time.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    # Presolve replaces sums by their terms. If half of a million questions are wanted, the solver
    # then finds no selection in 20 s; without presolve, it finds the best in 0.1 s.
    solver.parameters.cp_model_presolve = False
    solver.parameters.linearization_level = 2  # many databases under caps: three times as fast
    solver.parameters.max_deterministic_time = 600
    status = solver.status_name(solver.solve(model))
    if status != "OPTIMAL":
        raise ArithmeticError(f"The solver found no best selection: {status}. {model.validate()}")
    return solver


class _Program:
    """The number of questions in each group, within all targets."""

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
        """Add a number for each group of each kind of databases.

        Databases with the same counts are of one kind. Any sum for a kind can be distributed
        evenly, so that each database stays within its cap and its counts.
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
        """Return the number of questions with these names, as in count(split="train").

        It is a variable of its own, so that the solver rounds the result of a share.
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
        """Maximize a number, and keep this value from then on. Return it."""
        self._model.maximize(objective)
        value = solve(self._model).value(objective)
        self._model.add(objective == value)
        return value

    def approach(self, shares: Iterable[AskedShare]) -> None:
        """Minimize the sum of the distances from these shares."""
        wishes = list(map(self._read, shares))
        scale = lcm(*(share.denominator for _, _, share in wishes))
        distances = []
        for part, whole, share in wishes:
            # Scaled by this share's denominator alone: the solver is slow with large factors.
            up, down = share.numerator, share.denominator
            off = self._model.new_int_var(0, down * (self._total + 1), "")
            self._model.add(off >= part * down - whole * up)
            self._model.add(off >= whole * up - part * down)
            distances.append(off * (scale // down))
        if distances:
            self.maximize(-self._sum(distances))


# The questions that are picked, after the number of each part is known.
#
# A part is a split and a difficulty, and a corpus if corpora have shares. In each part the first
# question of every SQL template comes first, then the second ones, and so on. Within such a round,
# questions whose test suite rejects most wrong queries come first. A keyed hash decides between
# equals, so that one exclusion changes little.


def hash_key(question_id: str, seed: int) -> bytes:
    """Return a key for shuffling that depends only on the question and the seed."""
    return digest_text(f"{seed} {question_id}")


def count_unproved(suite_score: float | None) -> int:
    """Return how many of a hundred wrong queries near gold SQL the test suite accepts; all if the
    question has no score.

    >>> count_unproved(0.98), count_unproved(None)
    (2, 100)
    """
    return MOST_UNPROVED - round(MOST_UNPROVED * (suite_score or 0))


def order_candidates(usable: pd.DataFrame, *, seed: int, by_corpus: bool) -> pd.DataFrame:
    """Return the usable questions, those with the best suites first. `corpus` is "" if no target
    names it.

    They are sorted by the columns `unproved` and `place`.
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
    """Return the questions beyond the first `most` of their database and canonical SQL."""
    if most is None:
        return ordered.index[:0]
    turns = ordered.groupby(["database_name", "canonical_sql"]).cumcount()
    return ordered.index[turns >= most]


def rank_candidates(ordered: pd.DataFrame) -> pd.DataFrame:
    """Return the candidates in rounds, numbered by `turn`: the first question of every template in
    its part, the second ones, and so on."""
    turns = ordered.groupby([*PART, "template"]).cumcount()
    return ordered.assign(turn=turns).sort_values("turn", kind="stable")


def pick(ordered: pd.DataFrame, taken: Mapping[Group, int], targets: Targets) -> pd.Index:
    """Return the index of the picked questions: from each part the number that is taken."""
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
    """Return whether each is picked: the choice with the lowest sum of rounds, of unproved queries,
    and of hashes. Two choices hardly ever have the same sum, so the solver has no choice."""
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
