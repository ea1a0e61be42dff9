"""Execute every gold query once; each gets an answer or a reason."""

from __future__ import annotations

from functools import partial

from answerkey.base.reasons import Failure
from answerkey.engines.database import Limits
from answerkey.engines.gold_answers import GoldAnswer, Queries, answer_on_damaged
from answerkey.engines.opening import open_database
from answerkey.shards.database_files import local_path
from answerkey.shards.runs import QueryTask

Outcome = GoldAnswer | Failure
Context = tuple[Limits, str | None]  # the limits, and the time of the clock


def execute_task(task: QueryTask[Queries, Context]) -> list[Outcome]:
    """Return one outcome per query, in the order of the queries."""
    executed = task.find_executed()
    limits, now = task.context
    with open_database(local_path(executed), limits, now=now) as database:
        return task.map_queries(partial(answer_on_damaged, database, sha256=executed.sha256))
