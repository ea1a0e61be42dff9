"""Candidates: the usable questions as far as selection looks at them, and their order.

Questions whose answers prove more come first. Those that prove the same are shuffled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pandas as pd

from answerkey.core.cells import Group, Part
from answerkey.core.errors import InputError
from answerkey.core.records import digest_text

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
