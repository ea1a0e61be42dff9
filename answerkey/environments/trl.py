"""TRL: the environment of GRPOTrainer in which a policy looks around by a tool, then replies.

    with RewardPool() as pool:
        GRPOTrainer(model, pool.score_completions, args, train_dataset=questions,
                    environment_factory=partial(SqlEnvironment, pool))

The data are those of data/exports/trl/prompt_completion. The last reply is scored, as without a
tool: `reward_funcs` is the scorer, and the environment has no reward of its own.

Source: `environment_factory` of GRPOTrainer in TRL 1.16, which takes every public method but reset
for a tool, and hands all columns of a row to reset.
"""

from __future__ import annotations

from typing import Any

from answerkey.environments.questions import run_sql
from answerkey.reward import RewardPool


class SqlEnvironment:
    """The database of one question at a time, to read."""

    def __init__(self, pool: RewardPool) -> None:
        self._pool = pool
        self._database_name = ""

    def reset(self, *, database_name: str, **_: Any) -> None:
        """Turn to the database of the next question. The prompt has its schema."""
        self._database_name = database_name

    def run_sql(self, sql: str) -> str:
        """Run a query on the database of the question, which it cannot change. Gives the first rows
        as JSON, or the error of SQLite.

        Args:
            sql: A query of SQLite.
        """
        return run_sql(self._pool, sql, self._database_name)
