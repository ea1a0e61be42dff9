"""Rivals: the wrong queries that a suite must tell from gold, with what the real database says.

A rival is made once and never changes. What variants say of it is in `answerkey.suites.asked`.

Gold queries and questions are compared by identity, as rivals are: two rivals may have one text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from sqlglot import exp

from answerkey.alternatives.codes import mutate_codes
from answerkey.alternatives.neighbors import list_neighbors
from answerkey.alternatives.trees import Change, write_changes
from answerkey.alternatives.weak import list_fitted, list_weak
from answerkey.base.records import hash_value
from answerkey.sql.query_tree import parse_sql, unwrap
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import Order
from answerkey.sqlite.executions import Executions, are_same
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Schema
from answerkey.suites.questions import SuiteQuestion
from answerkey.variants.constants import fold_dates

# The query that gives the stored answer as constants. It reads no table and is never executed.
BY_HEART = "by_heart"
# One that gives as constants what gold gives on all databases of a suite.
GUESS = "guess"
# Those that leave out a condition of gold, or show another aggregate, or an extreme in place of the
# most common value.
CONDITION_REMOVED = "condition_removed"
AGGREGATES = ("aggregate_function", "extreme_value")

# Step limit of a rival on the real database, which may be large. A rival that takes more is left to
# the variants.
_MAX_STEPS = 500_000
# Step limit of the few rivals that survive on a suite and must be known on the real database.
_MAX_STEPS_OF_SURVIVORS = 3_000_000


class OnReal(StrEnum):
    """What the real database says of a rival.

    KILLED: its answer differs from gold's.
    SURVIVES: it has gold's answer.
    STOPPED: it takes too much there, so that nothing is known.
    UNASKED: nobody asked so far; these are the weak queries.
    """

    KILLED = "killed"
    SURVIVES = "survives"
    STOPPED = "stopped"
    UNASKED = "unasked"


@dataclass(frozen=True, eq=False, slots=True)
class Rival:
    """A query that is not gold: a neighbor, a weak query, or one that gives constants.

    name: of the operator that made it.
    rows: what it gives on every database, if it gives constants.
    """

    name: str
    sql: str
    on_real: OnReal
    rows: list[Row] | None = None


@dataclass(frozen=True, eq=False)
class GoldQuery:
    """A gold query, which several questions may share, and its rivals.

    rows, order, accepted_rows: its answer on the real database, how far the order of its rows
        counts, and the segments of every right answer if LIMIT cuts through a tie.
    abs_tol: how far floats of right answers may be apart whatever their size, on any database.
    dated_tree: the tree with its dates as they are at the instant of the corpus.
    rivals: first those that the real database does not kill, of which the last gives the stored
        answer; then those that it kills; then the weak queries.
    """

    sql: str
    tree: exp.Expr
    rows: list[Row]
    order: Order
    accepted_rows: Any
    abs_tol: float
    dated_tree: exp.Expr
    rivals: tuple[Rival, ...] = ()

    @cached_property
    def has_limit(self) -> bool:
        return self.tree.find(exp.Limit) is not None

    @cached_property
    def is_sorted(self) -> bool:
        return unwrap(self.tree).args.get("order") is not None

    @cached_property
    def answer_sha256(self) -> str:
        """What two gold queries share of which a rival has either both answers or none."""
        return hash_value([self.rows, self.order, self.accepted_rows, self.abs_tol])

    @cached_property
    def by_heart(self) -> Rival:
        """The rival that gives the stored answer."""
        return next(rival for rival in self.rivals if rival.name == BY_HEART)

    def list_by_fate(self, *fates: OnReal) -> list[Rival]:
        return [rival for rival in self.rivals if rival.on_real in fates]


@dataclass(frozen=True, eq=False)
class Case:
    """A question whose gold runs on the real database.

    voters: the queries of models that have gold's answer there.
    """

    question: SuiteQuestion
    gold: GoldQuery
    voters: tuple[str, ...] = ()

    @cached_property
    def readings(self) -> frozenset[str]:
        """The texts of its readings: a rival of such a text is right."""
        return frozenset(reading.sql for reading in self.question.readings)

    @cached_property
    def survivors(self) -> tuple[Rival, ...]:
        """The rivals that the real database does not kill; each variant that counts is asked."""
        alive = self.gold.list_by_fate(OnReal.SURVIVES, OnReal.STOPPED)
        return tuple(rival for rival in alive if rival.sql not in self.readings)

    @cached_property
    def others(self) -> tuple[Rival, ...]:
        """The rivals that only the suite is asked, once it is chosen: those that the real database
        kills or may kill."""
        stopped = [rival for rival in self.survivors if rival.on_real is OnReal.STOPPED]
        return (*self.gold.list_by_fate(OnReal.KILLED, OnReal.UNASKED), *stopped)

    @cached_property
    def memorized(self) -> frozenset[Rival]:
        """The survivors that have a code, a value or the stored answer as a constant, as wrong
        queries often do: each suite must kill them."""
        return frozenset(rival for rival in self.survivors if rival.name.endswith(BY_HEART))

    @cached_property
    def weighty(self) -> frozenset[Rival]:
        """The survivors that miss a condition or an aggregate which the question states: a query
        like these is right on the real database by chance."""
        kinds = (CONDITION_REMOVED, *AGGREGATES)
        return frozenset(rival for rival in self.survivors if rival.name in kinds)


class RealDatabase:
    """The real database, and which rivals it kills: one text is executed once for equal answers."""

    def __init__(self, executions: Executions, schema: Schema) -> None:
        self.executions = executions
        self.schema = schema
        self._kills: dict[tuple[str, str], tuple[bool | None, int]] = {}

    def gives(self, gold: GoldQuery, sql: str) -> bool:
        """Whether a query has gold's answer."""
        rows = self.executions.find_rows(sql, max_steps=_MAX_STEPS)
        return are_same(
            gold.rows,
            rows,
            ordered=gold.order,
            accepted_rows=gold.accepted_rows,
            abs_tol=gold.abs_tol,
        )

    def kills(self, gold: GoldQuery, sql: str, *, max_steps: int) -> bool | None:
        """Whether a query has another answer than gold; None if it takes too much."""
        key = gold.answer_sha256, sql
        is_killed, asked_steps = self._kills.get(key, (None, 0))
        if is_killed is None and asked_steps < max_steps:
            is_killed = self.executions.tells_apart(
                gold.rows,
                sql,
                ordered=gold.order,
                accepted_rows=gold.accepted_rows,
                abs_tol=gold.abs_tol,
                max_steps=max_steps,
            )
            self._kills[key] = is_killed, max_steps
        return is_killed

    def is_killed(self, gold: GoldQuery, rival: Rival) -> bool:
        """Whether it kills a rival, which is asked again with more steps if it was stopped."""
        if rival.on_real in (OnReal.UNASKED, OnReal.STOPPED):
            return bool(self.kills(gold, rival.sql, max_steps=_MAX_STEPS_OF_SURVIVORS))
        return rival.on_real is OnReal.KILLED


def read_cases(
    questions: list[SuiteQuestion],
    real: RealDatabase,
    *,
    max_neighbors: int,
    has_clock: bool = False,
) -> list[Case]:
    """The questions whose gold runs, each with what the real database says of its rivals."""
    golds: dict[str, GoldQuery] = {}
    cases = []
    for question in questions:
        rows = real.executions.find_rows(question.gold_sql)
        if rows is None or question.accepts_subset:
            continue
        gold = golds.get(question.gold_sql)
        if gold is None:
            gold = _read_gold(question, rows, real, max_neighbors, has_clock=has_clock)
            golds[question.gold_sql] = gold
        voters = tuple(sql for sql in question.model_queries if real.gives(gold, sql))
        cases.append(Case(question, gold, voters))
    return cases


def _read_gold(
    question: SuiteQuestion,
    rows: list[Row],
    real: RealDatabase,
    max_neighbors: int,
    *,
    has_clock: bool,
) -> GoldQuery:
    find_rows, tree = real.executions.find_rows, parse_sql(question.gold_sql)
    gold = GoldQuery(
        question.gold_sql,
        tree,
        rows,
        question.order,
        question.accepted_rows,
        question.abs_tol,
        fold_dates(tree, find_rows) if has_clock else tree,
    )
    scopes = Scopes(tree, real.schema)
    neighbors = list_neighbors(tree, real.schema, max_neighbors=max_neighbors)
    neighbors += write_changes(scopes, [mutate_codes(scopes, find_rows)], most=max_neighbors)
    neighbors += list_fitted(scopes, rows, find_rows)
    asked = [_ask_real(gold, neighbor, real) for neighbor in neighbors]
    by_heart = Rival(BY_HEART, write_by_heart(rows), OnReal.SURVIVES, rows)
    asked.append(by_heart)
    known = {gold.sql, *(rival.sql for rival in asked)}
    weak = [
        Rival(*query, OnReal.UNASKED) for query in list_weak(scopes, rows) if query.sql not in known
    ]
    asked.sort(key=lambda rival: rival.on_real is OnReal.KILLED)
    return replace(gold, rivals=(*asked, *weak))


def _ask_real(gold: GoldQuery, neighbor: Change, real: RealDatabase) -> Rival:
    is_killed = real.kills(gold, neighbor.sql, max_steps=_MAX_STEPS)
    fates = {True: OnReal.KILLED, False: OnReal.SURVIVES, None: OnReal.STOPPED}
    return Rival(*neighbor, fates[is_killed])


def make_guess(rows: list[Row]) -> Rival:
    """The rival that gives these rows on every database."""
    return Rival(GUESS, write_by_heart(rows), OnReal.KILLED, rows)


def write_by_heart(rows: list[Row]) -> str:
    """A query that gives these rows and reads no table.

    >>> write_by_heart([("it's", 1), (None, 2.5)])
    "VALUES ('it''s', 1), (NULL, 2.5)"
    """
    if not rows:
        return "SELECT NULL WHERE 0"
    return "VALUES " + ", ".join(f"({', '.join(map(_write_value, row))})" for row in rows)


def _write_value(value: Any) -> str:
    if value is None:
        return "NULL"
    return repr(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"
