"""What variants say: each is asked every question once, and every rival as far as somebody asks.

All variants of a database are stored in one database, one after the other, so that SQLite compiles
a query once: on so few rows, compiling takes longer than the execution.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple, Self

from sqlglot.errors import SqlglotError

from answerkey.engines.database import Limits, Row
from answerkey.engines.engine import RefilledDatabase, RefusedRowsError, TriedRows
from answerkey.engines.executions import Executions, are_same
from answerkey.engines.schema import quote_name
from answerkey.order.inspection import Inspection
from answerkey.order.row_order import OtherOrder, find_other_order
from answerkey.rewrites.trees import Change
from answerkey.sql.query_tree import parse_sql
from answerkey.suites.gate import (
    GoldAnswer,
    answer_gold,
    find_other_reading,
)
from answerkey.suites.questions import NoSuite
from answerkey.suites.rivals import GUESS, Case, RealDatabase, Rival
from answerkey.variants.rows import Rows, open_refilled, open_tried

# What a query may take on a variant, which is small: steps, or seconds if its engine counts none.
_MAX_STEPS, _MAX_CPU_S = 200_000, 2
_MOST_STOPS = 2  # of a rival, as of a recursive query without an end, that is asked no more


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


Answers = Mapping[Case, Mapping[int, Answer]]  # by question, and the number of a variant
Guarded = Mapping[Case, Sequence[Rival]]


class VariantDatabase:
    """One database, in which one variant is stored at a time."""

    def __init__(self, database: RefilledDatabase) -> None:
        self._database = database
        self._number: int | None = None
        self._executions = Executions(database)

    def store(self, number: int, rows: Rows) -> Executions:
        """Store a variant in the place of the one before it, unless it is that one, and return what
        queries give on it.

        Raises:
            RefusedRowsError: the database refuses a row.
        """
        if number == self._number:
            return self._executions
        self._number = None
        self._database.fill_tables(rows.list_rows(), rows.now)
        self._number, self._executions = number, Executions(self._database)
        return self._executions


class AskedVariants:
    """The variants of one database by their numbers, and a table of what each says of each
    question. Use it as a context manager.

    refusals: of a question, by the numbers of the variants that do not count for it.
    """

    def __init__(self, real: RealDatabase, limits: Limits, *, now: str | None) -> None:
        self.rows: dict[int, Rows] = {}
        self.refusals: dict[Case, dict[int, Refusal]] = {}
        self._answers: dict[int, dict[Case, Answer]] = {}
        self._real = real
        self._limits = replace(
            limits,
            max_steps=min(limits.max_steps, _MAX_STEPS),
            max_cpu_s=min(limits.max_cpu_s, _MAX_CPU_S),
        )
        self._now = now
        self._kills: dict[tuple[int, Rival], bool] = {}
        self._stops: Counter[Rival] = Counter()
        self._stack = ExitStack()
        self._tried: TriedRows | None = None
        self._stored: VariantDatabase | None = None
        self._reversed: VariantDatabase | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, number: int, rows: Rows, cases: Sequence[Case]) -> None:
        """Ask a variant all that counts for some questions. One whose rows the database refuses is
        left out."""
        if self._stored is None or self._reversed is None:
            self._stored, self._reversed = self._open(rows), self._open(rows)
        turned = {name: table.rows[::-1] for name, table in rows.tables.items()}
        try:
            variant = self._stored.store(number, rows)
            reverse = self._reversed.store(number, rows.with_rows(turned))
        except RefusedRowsError:
            return
        self.rows[number] = rows
        may_pass = self._may_pass(variant)
        schema = self._real.schema
        golds = {
            gold: answer_gold(gold, variant, reverse, schema)
            for gold in dict.fromkeys(case.gold for case in cases)
        }
        answers = self._answers[number] = {}
        for case in cases:
            said = self._ask(number, case, golds[case.gold], may_pass=may_pass)
            if isinstance(said, Refusal):
                self.refusals.setdefault(case, {})[number] = said
            else:
                answers[case] = said

    def open_tried(self, rows: Rows) -> TriedRows:
        """Open the tables, once for all variants, to try rows before a variant is added."""
        if self._tried is None:
            self._tried = self._stack.enter_context(open_tried(rows))
        return self._tried

    def _open(self, rows: Rows) -> VariantDatabase:
        database = open_refilled(rows, self._limits, now=self._now)
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
        self, number: int, case: Case, gold: GoldAnswer | NoSuite, *, may_pass: bool
    ) -> Answer | Refusal:
        if isinstance(gold, NoSuite):
            return Refusal(gold)
        reading = find_other_reading(case, gold, self.open(number))
        if reading is not None:
            return Refusal(NoSuite.OTHER_READING, reading, gold)
        killed = frozenset(
            rival for rival in case.survivors if self._is_killed(number, case, gold, rival)
        )
        return Answer(gold, killed, may_pass and case.gold.by_heart not in killed)

    def _is_killed(self, number: int, case: Case, gold: GoldAnswer, rival: Rival) -> bool:
        """Whether a variant kills a rival: its answer there is not gold's. It is asked once."""
        key = number, rival
        if key not in self._kills:
            order = False if rival.name == GUESS else gold.order
            abs_tol = case.gold.stored.abs_tol
            if rival.rows is not None:
                is_killed = not are_same(gold.rows, rival.rows, ordered=order, abs_tol=abs_tol)
            elif self._stops[rival] >= _MOST_STOPS:
                is_killed = False
            else:
                variant = self.open(number)
                told = variant.tells_apart(gold.rows, rival.sql, ordered=order, abs_tol=abs_tol)
                is_killed = bool(told)
                # Seconds are much longer than the steps that SQLite counts.
                self._stops[rival] += told is None and variant.database.steps is None
            self._kills[key] = is_killed
        return self._kills[key]

    def open(self, number: int) -> Executions:
        """What queries give on a variant, until another one is opened."""
        if self._stored is None:
            raise LookupError("no variant was added so far")
        return self._stored.store(number, self.rows[number])

    def find_other_order(self, number: int, sql: str, rows: list[Row]) -> OtherOrder:
        """How far the sequence of these rows of another right query counts on a variant."""
        try:
            tree = parse_sql(sql)
        except (SqlglotError, RecursionError):
            return {}
        return find_other_order(Inspection(sql, tree, self._real.schema, rows, self.open(number)))

    def list_answers(self, cases: Sequence[Case], guarded: Guarded) -> Answers:
        """What each variant that counts says of each question. Of the guarded rivals, only those
        are killed that it kills behind a guard. Each variant is stored once for all questions."""
        listed: dict[Case, dict[int, Answer]] = {case: {} for case in cases}
        for number, answers in self._answers.items():
            for case, answer in answers.items():
                listed[case][number] = answer
                if case in guarded:
                    killed = self._list_killed(number, case, guarded[case])
                    killed = answer.killed.difference(guarded[case]).union(killed)
                    listed[case][number] = answer._replace(killed=killed)
        return listed

    def _list_killed(self, number: int, case: Case, rivals: Sequence[Rival]) -> frozenset[Rival]:
        """The rivals of a question that a variant which counts kills behind a guard."""
        answer = self._answers[number][case]
        behind = () if answer.passes else rivals
        return frozenset(
            rival for rival in behind if self._is_killed(number, case, answer.gold, rival)
        )

    def list_survivors(
        self, rivals: Mapping[Case, Sequence[Rival]], suites: Mapping[Case, Collection[int]]
    ) -> dict[Case, list[Rival]]:
        """Which rivals of each question no variant of its suite kills behind a guard. Each variant
        is stored once for all questions."""
        alive = {case: list(own) for case, own in rivals.items()}
        for number in self._answers:
            for case in rivals:
                if number in suites[case]:
                    killed = self._list_killed(number, case, alive[case])
                    alive[case] = [rival for rival in alive[case] if rival not in killed]
        return alive
