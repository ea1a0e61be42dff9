"""Questions on the real database: the neighbors and the readings that it does not tell from gold;
and what becomes known of them on variants."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.alternatives.neighbors import list_neighbors
from answerkey.rewrites.codes import mutate_codes
from answerkey.rewrites.trees import Change, write_changes
from answerkey.rewrites.weak import list_fitted, list_weak
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.answers import Order, has_choice, read_order
from answerkey.sqlite.executions import Executions, are_same
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Schema
from answerkey.suites.latent import LatentAmbiguity

# The query that says the stored answer by heart. It reads no table, so that it needs no execution.
BY_HEART = "by_heart"
# Those that leave out a condition of gold, or show another aggregate, or an extreme in place of the
# most common value.
CONDITION_REMOVED = "condition_removed"
AGGREGATES = ("aggregate_function", "extreme_value")
# One that says by heart what gold gives on all databases of a suite.
GUESS = "guess"

# Of a neighbor on the real database, which may be large. Where it takes more, it is not known to be
# told from gold, and left to the variants.
_MAX_STEPS = 500_000
# The same of what lives on a suite, of which there are few.
_MAX_STEPS_OF_LIVING = 3_000_000


class SuiteQuestion(NamedTuple):
    """A question, with all that its suite is made from.

    order: how far the order of rows counts on the real database.
    accepted_rows: the segments of every right answer there, if LIMIT cuts through a tie.
    takes_part: whether the rule accepts some of the rows: then there is no suite.
    other_sql: queries that are right, too.
    readings: those of the question that have gold's answer on the real database.
    model_queries: what models answered, a query of each.
    abs_tol: how far floats of right answers may be apart whatever their size.
    """

    question_id: str
    gold_sql: str
    order: Order
    accepted_rows: Sequence[Any] | None = None
    takes_part: bool = False
    other_sql: tuple[str, ...] = ()
    model_queries: tuple[str, ...] = ()
    readings: tuple[Change, ...] = ()
    abs_tol: float = 0.0


def make_question(
    record: dict[str, Any], audit: dict[str, Any], model_queries: Sequence[str] = ()
) -> SuiteQuestion:
    """The question of a record, with what the audit says of its answer."""
    accepted_rows = audit["accepted_rows"]
    return SuiteQuestion(
        record["question_id"],
        record["gold_sql"],
        read_order(audit["order_matters"], accepted_rows),
        accepted_rows if has_choice(accepted_rows) else None,
        record["source"].get("grading_method", "").startswith("subset"),
        tuple(record.get("other_sql", ())),
        tuple(model_queries),
        tuple(Change(*reading) for reading in audit["readings"]),
        audit.get("abs_tol", 0.0),
    )


class NoSuite(StrEnum):
    """A reason why a question has no suite; of those why variants do not count, the last one: there
    gold came nearest to an answer that counts.

    PART_IS_ENOUGH: its rule accepts some of the rows.
    GOLD_FAILS: gold has no answer on the real database, within the bounds of this stage.
    NO_VARIANTS: none could be made of its database.
    FAILS: gold fails on the variants, or takes too much there.
    SAYS_NOTHING: its answers there have no row, or only NULL and 0.
    STORED_ORDER: its answers there depend on how rows are stored.
    TIES: its LIMIT cuts through a tie there.
    OTHER_READING: the question may mean something else, which differs there.
    TELLS_NOTHING: gold has the stored answer there, as its neighbors have.
    NO_ROOM: other questions need the variants that are kept.
    """

    PART_IS_ENOUGH = "part_is_enough"
    GOLD_FAILS = "gold_fails"
    NO_VARIANTS = "no_variants"
    FAILS = "fails"
    SAYS_NOTHING = "says_nothing"
    STORED_ORDER = "stored_order"
    TIES = "ties"
    OTHER_READING = "other_reading"
    TELLS_NOTHING = "tells_nothing"
    NO_ROOM = "no_room"


@dataclass(slots=True)
class Query:
    """A gold query, which several questions may share.

    rows, order, accepted_rows: its answer on the real database, how far the order of its rows
        counts, and the segments of every right answer if LIMIT cuts through a tie.
    abs_tol: how far floats of right answers may be apart whatever their size, on any database.
    orders: how far it counts on each variant on which the answer counts, by its number.
    refused: why it does not count on others.
    killed, alive: the neighbors that the real database tells from gold, and those that it does not.
    stopped: the indexes of the alive ones that took too much there.
    weak: weak queries, of which the real database has not been asked.
    fates: whether a variant tells a killed neighbor or a weak query from gold, by the number of the
        variant and the index of the query, as far as somebody asked.
    told: whether the real database tells a weak query or a stopped neighbor from gold, by its
        index, as far as somebody asked.
    """

    sql: str
    tree: exp.Expr
    rows: list[Row]
    order: Order
    accepted_rows: Sequence[Any] | None = None
    abs_tol: float = 0.0
    orders: dict[int, Order] = field(default_factory=dict)
    refused: set[NoSuite] = field(default_factory=set)
    killed: list[Change] = field(default_factory=list)
    alive: list[Change] = field(default_factory=list)
    stopped: set[int] = field(default_factory=set)
    weak: list[Change] = field(default_factory=list)
    fates: dict[tuple[int, int], bool] = field(default_factory=dict)
    told: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Trial:
    """A question that is tried on variants, its query, and what becomes known of it there.

    readings: those that give gold's answer on the real database, too.
    kills: by the number of a variant, the indexes of the alive neighbors that it tells from gold,
        and of the guarded ones.
    refused: why variants do not count for it, though its query's answer does there.
    guarded: the indexes of killed and stopped neighbors, weak queries and guesses that a suite that
        was chosen does not tell from gold: who tells the real database from the suite is right with
        them.
    passing: the variants that a guard may take for the real database, and is right, since gold
        gives the stored answer there.
    guesses: the answers that gold gave on all databases of a suite, the passing ones left out.
    latent: what is told of the first reading that differs on a variant.
    """

    question: SuiteQuestion
    query: Query
    readings: list[Change]
    kills: dict[int, frozenset[int]] = field(default_factory=dict)
    refused: set[NoSuite] = field(default_factory=set)
    guarded: set[int] = field(default_factory=set)
    passing: set[int] = field(default_factory=set)
    guesses: list[list[Row]] = field(default_factory=list)
    latent: LatentAmbiguity | None = None

    def list_neighbors(self) -> dict[int, Change]:
        """All neighbors by their indexes: first the alive ones, those left out that are readings of
        the question, then the killed ones, the weak queries that are guarded, and the guesses."""
        means = {reading.sql for reading in self.readings}
        guesses = [Change(GUESS, write_by_heart(rows)) for rows in self.guesses]
        query = self.query
        every = enumerate([*query.alive, *query.killed, *query.weak, *guesses])
        others = self.list_weak() - self.guarded
        return {
            index: neighbor
            for index, neighbor in every
            if neighbor.sql not in means and index not in others
        }

    def list_alive(self) -> frozenset[int]:
        """The indexes of the neighbors that the real database does not tell from gold."""
        means = {reading.sql for reading in self.readings}
        alive = enumerate(self.query.alive)
        return frozenset(index for index, neighbor in alive if neighbor.sql not in means)

    def list_killed(self) -> frozenset[int]:
        """The indexes of those that it tells, of the guarded queries, and of the guesses."""
        start, others = len(self.query.alive), self.list_weak() - self.guarded
        count = len(self.query.killed) + len(self.query.weak) + len(self.guesses)
        return frozenset({*range(start, start + count), *self.guarded}) - others

    def list_stopped(self) -> frozenset[int]:
        """The indexes of the neighbors that took too much on the real database."""
        return self.list_alive() & self.query.stopped

    def list_weak(self) -> frozenset[int]:
        """The indexes of the weak queries."""
        start = len(self.query.alive) + len(self.query.killed)
        return frozenset(range(start, start + len(self.query.weak)))

    def is_proved(self) -> bool:
        """Whether some variant tells the stored answer said by heart, which is the last one."""
        return any(map(self.is_proved_by, self.kills))

    def is_proved_by(self, number: int) -> bool:
        """Whether a variant tells it, since gold gives another answer there."""
        return len(self.query.alive) - 1 in self.kills[number]

    def tell_why_none(self) -> NoSuite:
        """Return why it has no suite: what kept it from the variant on which it came furthest."""
        if self.kills:
            return NoSuite.NO_ROOM if self.list_told() else NoSuite.TELLS_NOTHING
        refused = self.refused | self.query.refused
        return max(refused, key=[*NoSuite].index, default=NoSuite.NO_VARIANTS)

    def list_told(self) -> frozenset[int]:
        """The indexes of the alive and the guarded neighbors that some variant tells from gold."""
        return frozenset().union(*self.kills.values())

    def list_untold(self) -> frozenset[int]:
        """The indexes of the guarded queries that no variant tells from gold so far."""
        return frozenset(self.guarded) - self.list_told()

    def misses(self, operators: Collection[str]) -> bool:
        """Whether nothing tells a neighbor of some operators from gold so far."""
        lives = self.list_alive() - self.list_told()
        return any(self.query.alive[index].name in operators for index in lives)

    def list_by_heart(self) -> frozenset[int]:
        """The indexes of the neighbors that say a code, a value or the stored answer by heart, as
        wrong queries often do: each suite must tell them."""
        return frozenset(
            index for index in self.list_alive() if self.query.alive[index].name.endswith(BY_HEART)
        )

    def list_weighty(self) -> frozenset[int]:
        """The indexes of the neighbors that count more than others: who lets a condition or a count
        pass that the question states is right on the real database by chance."""
        kinds = (CONDITION_REMOVED, *AGGREGATES)
        alive = self.query.alive
        return frozenset(
            {*self.guarded, *(index for index in self.list_alive() if alive[index].name in kinds)}
        )

    def list_musts(self) -> frozenset[int]:
        """The indexes of the neighbors that each suite must tell, if a variant does."""
        return self.list_by_heart() | self.list_weighty()

    def add_guess(self, rows: list[Row]) -> None:
        if rows not in self.guesses:
            self.guesses.append(rows)


def read_questions(
    questions: list[SuiteQuestion], real: Executions, schema: Schema, *, max_neighbors: int
) -> list[Trial]:
    """The questions whose gold runs, each with what the real database says of its neighbors."""
    queries: dict[str, Query] = {}
    trials = []
    for question in questions:
        rows = real.find_rows(question.gold_sql)
        if rows is None or question.takes_part:
            continue
        sql = question.gold_sql
        if sql not in queries:
            tree, accepted = parse_sql(sql), question.accepted_rows
            queries[sql] = Query(sql, tree, rows, question.order, accepted, question.abs_tol)
            _sort_neighbors(queries[sql], real, schema, max_neighbors)
        query = queries[sql]
        is_right = partial(_gives, real, query)
        voters = tuple(sql for sql in question.model_queries if is_right(sql, _MAX_STEPS))
        trials.append(
            Trial(question._replace(model_queries=voters), query, list(question.readings))
        )
    return trials


def _gives(real: Executions, query: Query, sql: str, max_steps: int) -> bool:
    rows = real.find_rows(sql, max_steps=max_steps)
    return are_same(
        query.rows,
        rows,
        ordered=query.order,
        accepted_rows=query.accepted_rows,
        abs_tol=query.abs_tol,
    )


def _sort_neighbors(query: Query, real: Executions, schema: Schema, max_neighbors: int) -> None:
    scopes = Scopes(query.tree, schema)
    neighbors = list_neighbors(query.tree, schema, max_neighbors=max_neighbors)
    codes = write_changes(scopes, [mutate_codes(scopes, real.find_rows)], most=max_neighbors)
    fitted = list_fitted(scopes, query.rows, real.find_rows)
    for neighbor in neighbors + codes + fitted:
        is_told = _tells(real, query, neighbor, _MAX_STEPS)
        if is_told is None:
            query.stopped.add(len(query.alive))
        (query.killed if is_told else query.alive).append(neighbor)
    query.alive.append(Change(BY_HEART, write_by_heart(query.rows)))
    known = {query.sql, *(neighbor.sql for neighbor in query.alive + query.killed)}
    query.weak = [weak for weak in list_weak(scopes, query.rows) if weak.sql not in known]


def is_told(query: Query, index: int, real: Executions) -> bool:
    """Whether the real database tells a killed or stopped neighbor, or a weak query, from gold."""
    others = dict(enumerate(query.weak, start=len(query.alive) + len(query.killed)))
    others |= {stopped: query.alive[stopped] for stopped in query.stopped}
    if index not in others:
        return True
    if index not in query.told:
        query.told[index] = bool(_tells(real, query, others[index], _MAX_STEPS_OF_LIVING))
    return query.told[index]


def _tells(real: Executions, query: Query, neighbor: Change, max_steps: int) -> bool | None:
    return real.tells_apart(
        query.rows,
        neighbor.sql,
        ordered=query.order,
        accepted_rows=query.accepted_rows,
        abs_tol=query.abs_tol,
        max_steps=max_steps,
    )


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
