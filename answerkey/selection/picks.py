"""Candidates: the usable questions as far as selection looks at them, and their order.

Questions whose answers prove more come first. Those that prove the same are shuffled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

from answerkey.dataset import CELLS, Group, Part, Solution
from answerkey.errors import InputError
from answerkey.records import DIFFICULTIES, SPLITS, digest_text, read_share
from answerkey.selection.targets import Targets, solve

MOST_UNPROVED = 100


class Candidate(NamedTuple):
    """A usable question; `number` is its place among all questions."""

    number: int
    group: Group
    question_id: str
    template: str
    canonical_sql: str
    suite_score: float | None = None


class Ranked(NamedTuple):
    """A candidate in the order of its part: what its answer leaves unproved, its place in the
    shuffled order, and its round."""

    number: int
    group: Group
    unproved: int
    place: bytes
    turn: int


def hash_key(question_id: str, seed: int) -> bytes:
    """A place in a shuffled order that depends on the question and the seed alone."""
    return digest_text(f"{seed} {question_id}")


def count_unproved(suite_score: float | None) -> int:
    """Of a hundred wrong queries near gold SQL, those that the test suite takes for right; all
    where the question has no score.

    >>> count_unproved(0.98), count_unproved(None)
    (2, 100)
    """
    return MOST_UNPROVED - round(MOST_UNPROVED * (suite_score or 0))


class Candidates:
    """All candidates of a selection, those that prove most first, else in the shuffled order that a
    seed gives them."""

    def __init__(self, candidates: Iterable[Candidate], *, seed: int) -> None:
        rows = [
            (
                *(c.number, *c.group, c.question_id, c.template, c.canonical_sql),
                *(count_unproved(c.suite_score), hash_key(c.question_id, seed)),
            )
            for c in candidates
        ]
        names = ["number", *Group._fields, "question_id", "template", "canonical_sql"]
        names += ["unproved", "place"]
        table = pd.DataFrame(rows, columns=names, dtype=object)
        self._table = table.sort_values(["unproved", "place", "question_id"])

    def count(
        self, *, by_database: bool = False, by_answer_type: bool = False, by_corpus: bool = False
    ) -> Counter[Group]:
        """How many there are of each group; what is not told apart is '' there."""
        is_told = {
            "database_name": by_database,
            "answer_type": by_answer_type,
            "corpus": by_corpus,
        }
        merged = {name: "" for name, is_chosen in is_told.items() if not is_chosen}
        groups = self._table[list(Group._fields)].assign(**merged)
        return Counter(map(Group._make, groups.itertuples(index=False, name=None)))

    def cap_paraphrases(self, most: int | None) -> list[int]:
        """Keep at most so many that share a database and canonical SQL, the first in order; the
        numbers of the others, which are candidates no longer.

        Raises:
            InputError: where `most` is no whole number from 1.
        """
        if most is None:
            return []
        if type(most) is not int or most < 1:
            raise InputError(
                "select_questions.max_per_canonical_sql: expected a whole number from 1,"
                f" found {most!r}"
            )
        turns = self._table.groupby(["database_name", "canonical_sql"]).cumcount()
        dropped = self._table.loc[turns >= most, "number"].tolist()
        self._table = self._table[turns < most]
        return dropped

    def list_best(self, part: Part, count: int) -> Iterator[int]:
        """The numbers of the best candidates of a part, best first; `count` of them."""
        return iter(self._rank(part)["number"].tolist()[:count])

    def rank(self, part: Part) -> Iterator[Ranked]:
        """The candidates of a part, best first."""
        ranked = self._rank(part)
        groups = map(Group._make, ranked[list(Group._fields)].itertuples(index=False, name=None))
        columns = (ranked[name].tolist() for name in ("number", "unproved", "place", "turn"))
        for number, unproved, place, turn, group in zip(*columns, groups, strict=True):
            yield Ranked(number, group, unproved, place, turn)

    def _rank(self, part: Part) -> pd.DataFrame:
        """The candidates of a part in rounds: the first question of every template, the second
        ones, and so on; each round in the order of all candidates."""
        split, difficulty, corpus = part
        table = self._table
        is_member = (table["split"] == split) & (table["difficulty"] == difficulty)
        if corpus:
            is_member &= table["corpus"] == corpus
        members = table[is_member]
        turns = members.groupby("template").cumcount()
        return members.assign(turn=turns).sort_values("turn", kind="stable")


# Spread: how many questions of each difficulty each corpus gives, once both totals are known.


def spread(usable: Mapping[Part, int], solution: Solution) -> dict[Part, int]:
    """How many questions of each part make up the solution.

    >>> spread({("train", "easy", ""): 9}, Solution(4, {("train", "easy"): 4}))
    {('train', 'easy', ''): 4}

    Where corpora have shares, each corpus gives as much of each difficulty as its own part of all
    questions is, as far as it has them: a difficulty says little about the corpus then.
    """
    if not solution.corpora:
        return {part: solution.counts[part[:2]] for part in usable}
    counts = {}
    for split in SPLITS:
        corpora = [corpus for name, corpus in solution.corpora if name == split]
        columns = spread_table(
            [[usable.get((split, level, name), 0) for level in DIFFICULTIES] for name in corpora],
            [solution.counts[split, level] for level in DIFFICULTIES],
            [solution.corpora[split, corpus] for corpus in corpora],
        )
        for corpus, column in zip(corpora, columns, strict=True):
            for level, count in zip(DIFFICULTIES, column, strict=True):
                counts[split, level, corpus] = count
    return counts


def spread_table(
    limits: Sequence[Sequence[int]], of_rows: Sequence[int], of_columns: Sequence[int]
) -> list[list[int]]:
    """The columns of a table of three rows with these totals, of which no number exceeds its limit.

    >>> spread_table([[9, 9, 9], [9, 9, 9]], [4, 4, 2], [5, 5])
    [[2, 2, 1], [2, 2, 1]]
    >>> spread_table([[9, 9, 0], [9, 9, 9]], [4, 4, 2], [5, 5])
    [[2, 3, 0], [2, 1, 2]]

    Numbers are fixed one by one, each as near as it can be to its proportional part of what is
    left. Such a table must exist.
    """
    left = list(of_rows)
    table = []
    for place, total in enumerate(of_columns):
        least, most = _bound_column(limits[place:], left, of_columns[place:])
        column: list[int] = []
        for row in range(len(left)):
            rest, size = total - sum(column), sum(left[row:])
            wish = (2 * left[row] * rest + size) // (2 * size) if size else 0
            low = max(least[row], rest - sum(most[row + 1 :]))
            high = min(most[row], rest - sum(least[row + 1 :]))
            column.append(min(max(wish, low), high))
        left = [row - count for row, count in zip(left, column, strict=True)]
        table.append(column)
    return table


def _bound_column(
    limits: Sequence[Sequence[int]], of_rows: Sequence[int], of_columns: Sequence[int]
) -> tuple[list[int], list[int]]:
    """The least and the most of each number of the first column, so that the other columns can hold
    what is left of the rows.

    Of three rows, any set is one row, all but one, or all.
    """

    def hold(rows: list[int]) -> int:
        return sum(
            min(total, sum(column[row] for row in rows))
            for column, total in zip(limits[1:], of_columns[1:], strict=True)
        )

    least, most = [], []
    for row, total in enumerate(of_rows):
        others = [other for other in range(len(of_rows)) if other != row]
        of_others = sum(of_rows[other] for other in others) - hold(others)
        least.append(max(0, total - hold([row])))
        most.append(min(limits[0][row], total, of_columns[0] - max(0, of_others)))
    return least, most


# Selection inside the cells: which questions, once it is known how many of each cell.
#
# Inside a cell the order is: first questions of every SQL template, then second ones, and so on,
# each round by mutation score, and where it is the same by a keyed hash of the question. The
# order of two questions does not depend on what else there is beyond their templates, so that one
# exclusion moves little.


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
