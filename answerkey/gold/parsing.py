"""Parse every gold query once: its tables, features, hardness and canonical form."""

from __future__ import annotations

from answerkey.base.reasons import Failure, Reason
from answerkey.engines.database import end_overdue
from answerkey.engines.schema import Schema
from answerkey.shards.runs import QueryTask
from answerkey.sql.parsed_query import ParsedQuery, parse_query
from answerkey.sql.query_tree import speaking

MAX_SECONDS = 60  # the last resort: limits that are the same on every machine apply first
OVERDUE = Failure(reason=Reason.TOO_COMPLEX, detail=f"more than {MAX_SECONDS} seconds")

Outcome = ParsedQuery | Failure


def parse_task(task: QueryTask[str, Schema]) -> list[Outcome]:
    """Return the outcome of each query, in the order of the queries."""

    def parse(query: str) -> Outcome:
        with end_overdue(MAX_SECONDS):
            return parse_query(query, task.context)

    with speaking(task.context.engine):
        return task.map_queries(parse)
