"""What variants say: each is asked every question once, and every rival as far as somebody asks.

All variants of a database are stored in one database in memory, one after the other, so that SQLite
compiles a query once: on so few rows, compiling takes longer than the execution.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple, Self

from answerkey.alternatives.trees import Change
from answerkey.sqlite.executions import Executions, are_same
from answerkey.sqlite.guard import Limits, RefilledDatabase
from answerkey.sqlite.schema import quote_name
from answerkey.suites.cover import Kills
from answerkey.suites.gate import (
    GoldAnswer,
    answer_gold,
    find_other_reading,
)
from answerkey.suites.questions import NoSuite
from answerkey.suites.rivals import GUESS, Case, GoldQuery, RealDatabase, Rival
from answerkey.variants.rows import Rows, open_empty

# Step limit of a query on a variant, which is small.
_MAX_STEPS = 200_000
_KEPT_STATEMENTS = 2000

Guarded = Mapping[Case, Sequence[Rival]]


class Answer(NamedTuple):
    """What a variant says of a question that counts there.

    gold: gold's answer.
    killed: the survivors of the real database that have another answer.
    passes: whether a guard may take the variant for the real database, and is right, since gold
        gives the stored answer here.
    """

    gold: GoldAnswer
    killed: frozenset[Rival]
    passes: bool


class Refusal(NamedTuple):
    """Why a variant does not count for a question.

    reading, gold: the reading that differs there, and gold's answer, if that is why.
    """

    reason: NoSuite
    reading: Change | None = None
    gold: GoldAnswer | None = None


class VariantDatabase:
    """One database in memory, in which one variant is stored at a time."""

    def __init__(self, database: RefilledDatabase) -> None:
        self._database = database
        self._number: int | None = None
        self._executions = Executions(database)

    def store(self, number: int, rows: Rows) -> Executions:
        """Store a variant in the place of the one before it, unless it is that one, and return what
        queries give on it."""
        if number == self._number:
            return self._executions
        tables = rows.tables.values()
        deletions = [(f"DELETE FROM {quote_name(table.name)};", [()]) for table in tables]
        insertions = [
            (f"{table.insert};", list(map(table.take_stored, table.rows))) for table in tables
        ]
        self._number = None
        self._database.fill([*deletions, *insertions])
        self._number, self._executions = number, Executions(self._database)
        return self._executions


class AskedVariants:
    """The variants of one database by their numbers, and a table of what each says of each
    question. Use it as a context manager.

    answers: by the number of a variant, what it says of the questions that were asked there.
    """

    def __init__(self, real: RealDatabase, limits: Limits, *, now: str | None) -> None:
        self.rows: dict[int, Rows] = {}
        self.answers: dict[int, dict[Case, Answer | Refusal]] = {}
        self._real = real
        self._limits = replace(limits, max_steps=min(limits.max_steps, _MAX_STEPS))
        self._now = now
        self._kills: dict[tuple[int, Rival], bool] = {}
        self._stack = ExitStack()
        self._stored: VariantDatabase | None = None
        self._reversed: VariantDatabase | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, number: int, rows: Rows, cases: Sequence[Case]) -> None:
        """Ask a variant all that counts for some questions."""
        if self._stored is None or self._reversed is None:
            self._stored, self._reversed = self._open(rows), self._open(rows)
        self.rows[number] = rows
        turned = {name: table.rows[::-1] for name, table in rows.tables.items()}
        variant = self._stored.store(number, rows)
        reverse = self._reversed.store(number, rows.with_rows(turned))
        may_pass = self._may_pass(variant)
        golds: dict[GoldQuery, GoldAnswer | NoSuite] = {}
        answers = self.answers[number] = {}
        for gold in {case.gold: None for case in cases}:
            golds[gold] = answer_gold(gold, variant, reverse, self._real.schema)
        for case in cases:
            answers[case] = self._ask(number, case, golds[case.gold], variant, may_pass=may_pass)

    def _open(self, rows: Rows) -> VariantDatabase:
        connection = self._stack.enter_context(open_empty(rows, kept_statements=_KEPT_STATEMENTS))
        for view in rows.views:
            connection.execute(view)
        database = RefilledDatabase(connection, "variant", self._limits, now=self._now)
        return VariantDatabase(self._stack.enter_context(database))

    def _may_pass(self, variant: Executions) -> bool:
        """Whether a guard that counts the rows of one table may take a variant for the real
        database: some table has as many in both."""
        tables = self._real.schema.tables
        counts = (f"SELECT count(*) FROM {quote_name(table.name)}" for table in tables)
        return any(
            rows not in (None, [(0,)]) and rows == variant.find_rows(sql)
            for sql, rows in ((sql, self._real.executions.find_rows(sql)) for sql in counts)
        )

    def _ask(
        self,
        number: int,
        case: Case,
        gold: GoldAnswer | NoSuite,
        variant: Executions,
        *,
        may_pass: bool,
    ) -> Answer | Refusal:
        if isinstance(gold, NoSuite):
            return Refusal(gold)
        other = find_other_reading(case, gold, variant)
        if other is not None:
            return Refusal(NoSuite.OTHER_READING, other, gold)
        killed = frozenset(
            rival for rival in case.survivors if self._is_killed(number, case, gold, rival)
        )
        return Answer(gold, killed, may_pass and case.gold.by_heart not in killed)

    def _is_killed(self, number: int, case: Case, gold: GoldAnswer, rival: Rival) -> bool:
        """Whether a variant kills a rival: its answer there is not gold's."""
        key = number, rival
        if key not in self._kills:
            order = False if rival.name == GUESS else gold.order
            abs_tol = case.gold.abs_tol
            if rival.rows is not None:
                is_killed = not are_same(gold.rows, rival.rows, ordered=order, abs_tol=abs_tol)
            else:
                variant = self.open(number)
                is_killed = bool(
                    variant.tells_apart(gold.rows, rival.sql, ordered=order, abs_tol=abs_tol)
                )
            self._kills[key] = is_killed
        return self._kills[key]

    def open(self, number: int) -> Executions:
        """What queries give on a variant, until another one is opened."""
        if self._stored is None:
            raise LookupError("no variant was added so far")
        return self._stored.store(number, self.rows[number])

    def find_answer(self, number: int, case: Case) -> Answer | None:
        """What a variant says of a question; None if it does not count for it."""
        answer = self.answers[number].get(case)
        return answer if isinstance(answer, Answer) else None

    def is_killed(self, number: int, case: Case, rival: Rival) -> bool:
        """Whether a variant that counts for a question kills a rival even behind a guard."""
        answer = self.find_answer(number, case)
        if answer is None or answer.passes:
            return False
        return self._is_killed(number, case, answer.gold, rival)

    def read_answer(self, number: int, case: Case) -> Answer:
        """What a variant says of a question for which it counts.

        Raises:
            LookupError: it does not count.
        """
        answer = self.find_answer(number, case)
        if answer is None:
            raise LookupError(f"variant {number} does not count for {case.question.question_id}")
        return answer

    def list_refusals(self, case: Case) -> dict[int, Refusal]:
        """Why variants do not count for a question, by their numbers."""
        listed = {number: answers.get(case) for number, answers in self.answers.items()}
        return {number: each for number, each in listed.items() if isinstance(each, Refusal)}

    def list_kills(self, cases: Sequence[Case], guarded: Guarded) -> dict[Case, Kills[Rival]]:
        """For each question, the rivals that each variant which counts kills: of the survivors of
        the real database, and of its guarded rivals. Each variant is stored once for all."""
        listed: dict[Case, dict[int, frozenset[Rival]]] = {case: {} for case in cases}
        for number, answers in self.answers.items():
            for case, kills in listed.items():
                answer = answers.get(case)
                if isinstance(answer, Answer):
                    kills[number] = answer.killed
                    if behind := guarded.get(case):
                        killed = [rival for rival in behind if self.is_killed(number, case, rival)]
                        kills[number] = answer.killed.difference(behind).union(killed)
        return dict(listed)
