"""Rivals: the wrong queries that a suite must tell from gold, with what the real database says.

A rival is made once and never changes. What variants say of it is in `answerkey.suites.asked`.

Gold queries and questions are compared by identity, as rivals are: two rivals may have one text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlglot import exp

from answerkey.alternatives.neighbors import list_neighbors, list_neighbors_of_rows
from answerkey.base.records import hash_value
from answerkey.engines.answers import Order
from answerkey.engines.database import Row
from answerkey.engines.executions import Executions, are_same
from answerkey.engines.schema import Schema
from answerkey.rewrites.weak import list_fitted, list_weak
from answerkey.sql.query_tree import parse_sql, speaks_sqlite, unwrap
from answerkey.sql.scopes import Scopes
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
_STATED = (CONDITION_REMOVED, *AGGREGATES)

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


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer of gold on the real database.

    order, accepted_rows: how far the order of its rows counts, and the segments of every right
        answer if LIMIT cuts through a tie.
    abs_tol: how far floats of right answers may be apart whatever their size, on any database.
    sha256: of all that. Another query has two answers of one sha256, or neither.
    """

    rows: list[Row]
    order: Order
    accepted_rows: Sequence[Any] | None
    abs_tol: float
    sha256: str


@dataclass(frozen=True, eq=False, slots=True)
class GoldQuery:
    """A gold query, which several questions may share, and its rivals.

    dated_tree: the tree with its dates as they are at the instant of the corpus.
    has_limit, is_sorted: whether it has a LIMIT anywhere, and an ORDER BY at the top.
    rivals: first those that the real database does not kill, of which the last is `by_heart`; then
        those that it kills; then the weak queries.
    by_heart: the rival that gives the stored answer.
    """

    sql: str
    tree: exp.Expr
    dated_tree: exp.Expr
    stored: StoredAnswer
    has_limit: bool
    is_sorted: bool
    rivals: tuple[Rival, ...]
    by_heart: Rival


@dataclass(frozen=True, eq=False, slots=True)
class Case:
    """A question whose gold runs on the real database.

    voters: the queries of models that have gold's answer there.
    readings: the texts of its readings. A rival of such a text is right.
    survivors: the rivals that the real database does not kill; each variant that counts is asked.
    killed: the rivals that it kills.
    others: the rivals that only the suite is asked, once it is chosen: those that the real database
        kills or may kill.
    memorized: the survivors that have a code, a value or the stored answer as a constant, as wrong
        queries often do. Each suite must kill them.
    weighty: the survivors that miss a condition or an aggregate which the question states. A query
        like these is right on the real database by chance.
    """

    question: SuiteQuestion
    gold: GoldQuery
    voters: tuple[str, ...]
    readings: frozenset[str]
    survivors: tuple[Rival, ...]
    killed: tuple[Rival, ...]
    others: tuple[Rival, ...]
    memorized: frozenset[Rival]
    weighty: frozenset[Rival]


class RealDatabase:
    """The real database, and which rivals it kills: one text is executed once for equal answers.

    rivals: the same database where rivals are executed, if an engine that counts no steps has to
        bound them otherwise.
    """

    def __init__(
        self, executions: Executions, schema: Schema, *, rivals: Executions | None = None
    ) -> None:
        self.executions = executions
        self._rivals = rivals or executions
        self.schema = schema
        self._kills: dict[tuple[str, str], tuple[bool | None, int]] = {}

    def gives(self, stored: StoredAnswer, sql: str) -> bool:
        """Whether a query has gold's answer."""
        return are_same(
            stored.rows,
            self._rivals.find_rows(sql, max_steps=_MAX_STEPS),
            ordered=stored.order,
            accepted_rows=stored.accepted_rows,
            abs_tol=stored.abs_tol,
        )

    def kills(self, stored: StoredAnswer, sql: str, *, max_steps: int = _MAX_STEPS) -> bool | None:
        """Whether a query has another answer than gold; None if it takes too much."""
        key = stored.sha256, sql
        is_killed, asked_steps = self._kills.get(key, (None, 0))
        if is_killed is None and asked_steps < max_steps:
            is_killed = self._rivals.tells_apart(
                stored.rows,
                sql,
                ordered=stored.order,
                accepted_rows=stored.accepted_rows,
                abs_tol=stored.abs_tol,
                max_steps=max_steps,
            )
            self._kills[key] = is_killed, max_steps
        return is_killed

    def was_refused(self, sql: str) -> bool:
        """Whether `kills` met an error in the SQL of a query."""
        return self._rivals.was_refused(sql)

    def is_killed(self, gold: GoldQuery, rival: Rival) -> bool:
        """Whether it kills a rival, which is asked again with more steps if it was stopped."""
        is_known = rival.on_real in (OnReal.KILLED, OnReal.SURVIVES)
        steps = _MAX_STEPS_OF_SURVIVORS
        kills = None if is_known else self.kills(gold.stored, rival.sql, max_steps=steps)
        return rival.on_real is OnReal.KILLED or bool(kills)


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
        sql = question.gold_sql
        rows = real.executions.find_rows(sql)
        if rows is None or question.accepts_subset:
            continue
        if sql not in golds:
            golds[sql] = _read_gold(question, rows, real, max_neighbors, has_clock=has_clock)
        cases.append(_make_case(question, golds[sql], real))
    return cases


def _read_gold(
    question: SuiteQuestion,
    rows: list[Row],
    real: RealDatabase,
    max_neighbors: int,
    *,
    has_clock: bool,
) -> GoldQuery:
    answer = rows, question.order, question.accepted_rows, question.abs_tol
    stored = StoredAnswer(*answer, hash_value(answer))
    tree, find_rows = parse_sql(question.gold_sql), real.executions.find_rows
    scopes = Scopes(tree, real.schema)
    neighbors = list_neighbors(tree, real.schema, max_neighbors=max_neighbors)
    neighbors += list_neighbors_of_rows(scopes, find_rows, max_neighbors=max_neighbors)
    neighbors += list_fitted(scopes, rows, find_rows)
    fates = {True: OnReal.KILLED, False: OnReal.SURVIVES, None: OnReal.STOPPED}
    asked = [Rival(*other, fates[real.kills(stored, other.sql)]) for other in neighbors]
    if not speaks_sqlite():  # other engines refuse texts as dates, and more: that tells nothing
        asked = [rival for rival in asked if not real.was_refused(rival.sql)]
    by_heart = Rival(BY_HEART, write_by_heart(rows), OnReal.SURVIVES, rows)
    asked = sorted([*asked, by_heart], key=lambda rival: rival.on_real is OnReal.KILLED)
    known = {question.gold_sql, *(rival.sql for rival in asked)}
    weak = [
        Rival(*query, OnReal.UNASKED) for query in list_weak(scopes, rows) if query.sql not in known
    ]
    return GoldQuery(
        sql=question.gold_sql,
        tree=tree,
        dated_tree=fold_dates(tree, find_rows) if has_clock else tree,
        stored=stored,
        has_limit=tree.find(exp.Limit) is not None,
        is_sorted=unwrap(tree).args.get("order") is not None,
        rivals=(*asked, *weak),
        by_heart=by_heart,
    )


def _make_case(question: SuiteQuestion, gold: GoldQuery, real: RealDatabase) -> Case:
    readings = frozenset(reading.sql for reading in question.readings)
    by_fate: dict[OnReal, list[Rival]] = {fate: [] for fate in OnReal}
    for rival in gold.rivals:
        by_fate[rival.on_real].append(rival)
    alive = (OnReal.SURVIVES, OnReal.STOPPED)
    survivors = [
        rival for rival in gold.rivals if rival.on_real in alive and rival.sql not in readings
    ]
    stopped = [rival for rival in survivors if rival.on_real is OnReal.STOPPED]
    return Case(
        question,
        gold,
        voters=tuple(sql for sql in question.model_queries if real.gives(gold.stored, sql)),
        readings=readings,
        survivors=tuple(survivors),
        killed=tuple(by_fate[OnReal.KILLED]),
        others=(*by_fate[OnReal.KILLED], *by_fate[OnReal.UNASKED], *stopped),
        memorized=frozenset(rival for rival in survivors if rival.name.endswith(BY_HEART)),
        weighty=frozenset(rival for rival in survivors if rival.name in _STATED),
    )


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
