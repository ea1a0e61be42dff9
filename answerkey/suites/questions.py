"""Questions on the real database: their neighbors that it does not tell from gold, and the readings
that it does not tell from gold either."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlglot import exp

from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import Order, has_choice, read_order
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Schema
from answerkey.suites.executions import Executions, are_same
from answerkey.suites.neighbors.registry import Neighbor, list_neighbors
from answerkey.suites.readings import Reading, list_readings

# The query that says the stored answer by heart. It reads no table, so that it needs no execution.
BY_HEART = "by_heart"

# Of a neighbor on the real database, which may be large. Where it takes more, it is not known to be
# told from gold, and left to the variants.
_MAX_STEPS = 2_000_000


class SuiteQuestion(NamedTuple):
    """What a suite is made from.

    order: how far the order of rows counts on the real database.
    has_choice: whether other answers are right, too, because of a tie or by the rule of comparison:
        then there is no suite.
    """

    question_id: str
    question_text: str
    gold_sql: str
    order: Order
    has_choice: bool


def make_question(record: dict[str, Any], audit: dict[str, Any]) -> SuiteQuestion:
    """The question of a record, with what the audit says of its answer."""
    is_subset = record["source"].get("grading_method", "").startswith("subset")
    return SuiteQuestion(
        record["question_id"],
        record["question_text"],
        record["gold_sql"],
        read_order(audit["order_matters"], audit["accepted_rows"]),
        has_choice(audit["accepted_rows"]) or is_subset,
    )


@dataclass(slots=True)
class Query:
    """A gold query, which several questions may share.

    rows: its answer on the real database.
    order: how far the order of rows counts there.
    orders: the same on each variant on which it counts, by its number.
    killed: the neighbors that the real database tells from gold.
    alive: those that it does not tell from gold.
    """

    sql: str
    tree: exp.Expression
    rows: list[Row]
    order: Order
    orders: dict[int, Order] = field(default_factory=dict)
    killed: list[Neighbor] = field(default_factory=list)
    alive: list[Neighbor] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """A question with its query.

    readings: those that give gold's answer on the real database, too.
    kills: by the number of a variant, the places of the alive neighbors that it tells from gold.
    latent: the first variant on which a reading differs, and the reading.
    """

    question: SuiteQuestion
    query: Query
    readings: list[Reading]
    kills: dict[int, frozenset[int]] = field(default_factory=dict)
    latent: tuple[int, Reading] | None = None

    @property
    def by_heart(self) -> frozenset[int]:
        """The place of the neighbor that says the stored answer: each suite must tell it."""
        return frozenset({len(self.query.alive) - 1})

    def list_told(self) -> frozenset[int]:
        """The places of the alive neighbors that some variant tells from gold."""
        return frozenset().union(*self.kills.values())

    def list_alive(self) -> dict[int, Neighbor]:
        """The alive neighbors by their places, those left out that are readings of the question."""
        means = {reading.sql for reading in self.readings}
        return {
            place: neighbor
            for place, neighbor in enumerate(self.query.alive)
            if neighbor.sql not in means
        }


def read_questions(
    questions: list[SuiteQuestion], real: Executions, schema: Schema, *, max_neighbors: int
) -> list[Asked]:
    """The questions whose gold runs, each with what the real database says of its neighbors."""
    queries: dict[str, Query] = {}
    found = []
    for question in questions:
        rows = real.find_rows(question.gold_sql)
        if rows is None or question.has_choice:
            continue
        sql = question.gold_sql
        if sql not in queries:
            queries[sql] = Query(sql, parse_sql(sql), rows, question.order)
            _sort_neighbors(queries[sql], real, schema, max_neighbors)
        query = queries[sql]
        readings = [
            reading
            for reading in list_readings(
                query.tree, schema, question.question_text, find_texts=real.find_texts
            )
            if are_same(
                rows,
                real.find_rows(reading.sql, max_steps=_MAX_STEPS),
                ordered=question.order,
            )
        ]
        found.append(Asked(question, query, readings))
    return found


def _sort_neighbors(query: Query, real: Executions, schema: Schema, max_neighbors: int) -> None:
    for neighbor in list_neighbors(query.tree, schema, max_neighbors=max_neighbors):
        found = real.run(neighbor.sql, max_steps=_MAX_STEPS)
        if found.is_unknown or are_same(query.rows, found.rows, ordered=query.order):
            query.alive.append(neighbor)
        else:
            query.killed.append(neighbor)
    query.alive.append(Neighbor(BY_HEART, write_by_heart(query.rows)))


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
