"""Candidates: the usable questions as far as selection looks at them, on the disk.

There may be millions: SQLite counts and orders them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from answerkey.core.cells import Group, Part
from answerkey.core.errors import InputError
from answerkey.core.records import digest_text
from answerkey.core.scratch import open_scratch

_COLUMNS = (
    "number INTEGER PRIMARY KEY, split, difficulty, database_name, answer_type, corpus,"
    " question_id, place, template, canonical_sql"
)
_PART = "split = ? AND difficulty = ? AND ? IN ('', corpus)"
# Rounds of a part: the first question of every template, the second ones, and so on.
_RANK = f"""
    SELECT number, split, difficulty, database_name, answer_type, corpus, place,
           row_number() OVER (PARTITION BY template ORDER BY place, question_id) - 1 AS turn
    FROM candidate WHERE {_PART} ORDER BY turn, place, question_id
"""


class Candidate(NamedTuple):
    """A usable question; `number` is its place among all questions."""

    number: int
    group: Group
    question_id: str
    template: str  # or a hash of it, and so for canonical_sql
    canonical_sql: str


class Ranked(NamedTuple):
    """A candidate in the order of its part: its place in the shuffled order, and its round."""

    number: int
    group: Group
    place: bytes
    turn: int


def hash_key(question_id: str, seed: int) -> bytes:
    """A place in a shuffled order that depends on the question and the seed alone."""
    return digest_text(f"{seed} {question_id}")


class Candidates:
    """All candidates of a selection, and the shuffled order that a seed gives them."""

    def __init__(self, candidates: Iterable[Candidate], *, seed: int) -> None:
        self._connection = open_scratch(f"CREATE TABLE candidate ({_COLUMNS})")
        self._connection.executemany(
            "INSERT INTO candidate VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (c.number, *c.group, c.question_id, hash_key(c.question_id, seed), *c[3:])
                for c in candidates
            ),
        )

    def count(
        self, *, by_database: bool = False, by_answer_type: bool = False, by_corpus: bool = False
    ) -> Counter[Group]:
        """How many there are of each group; what is not told apart is '' there."""
        names = ("database_name", by_database), ("answer_type", by_answer_type)
        chosen = [
            name if is_chosen else "''" for name, is_chosen in (*names, ("corpus", by_corpus))
        ]
        rows = self._connection.execute(
            f"SELECT split, difficulty, {', '.join(chosen)}, count(*)"
            " FROM candidate GROUP BY 1, 2, 3, 4, 5"
        )
        return Counter({Group(*group): count for *group, count in rows})

    def cap_paraphrases(self, most: int | None) -> list[int]:
        """Keep at most so many that share a database and canonical SQL, the first in the shuffled
        order; the numbers of the others, which are candidates no longer.

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
        rows = self._connection.execute(
            "DELETE FROM candidate WHERE number IN (SELECT number FROM (SELECT number,"
            " row_number() OVER (PARTITION BY database_name, canonical_sql"
            " ORDER BY place, question_id) AS turn FROM candidate) WHERE turn > ?)"
            " RETURNING number",
            (most,),
        )
        return [number for (number,) in rows]

    def list_best(self, part: Part, count: int) -> Iterator[int]:
        """The numbers of so many of a part, best first; in any order where all are taken."""
        where = f"FROM candidate WHERE {_PART}"
        (size,) = self._connection.execute(f"SELECT count(*) {where}", part).fetchone()
        if count == size:
            rows = self._connection.execute(f"SELECT number {where}", part)
        else:
            rows = self._connection.execute(f"{_RANK} LIMIT ?", (*part, count))
        return (number for number, *_ in rows)

    def rank(self, part: Part) -> Iterator[Ranked]:
        """The candidates of a part, best first."""
        for number, *names, place, turn in self._connection.execute(_RANK, part):
            yield Ranked(number, Group(*names), place, turn)
