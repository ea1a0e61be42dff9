"""An OpenEnv environment for data/exports/openenv: look around in a database, then answer.

    uvicorn examples.openenv_environment:app

A line of the export is what `reset` takes. A policy sends queries and sees their rows; the query
that it marks as its answer is scored by the stored gold answers and ends the episode.
"""

from __future__ import annotations

import json
from typing import Any

from openenv.core.env_server import (
    Action,
    Environment,
    Observation,
    State,
    create_fastapi_app,
)

from answerkey.reward import RewardPool

_SHOWN_ROWS = 20
_POOL = RewardPool()  # of all episodes; options go here: workers, limits, databases, test_suites


class Query(Action):
    """A query; the last one of an episode is the answer."""

    sql: str
    is_answer: bool = False


class Result(Observation):
    """The question, or what a query returned."""

    text: str


class TextToSql(Environment):
    """One question of one database."""

    def __init__(self) -> None:
        super().__init__()
        self._state = State()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        question_text: str,
        evidence: str | None = None,
        database_name: str,
        gold_answer: str,
        order_matters: bool,
        max_steps: int | None = None,
        rule: str | None = None,
        accepted_rows: str | None = None,
        test_suite: str | None = None,
        **_: Any,
    ) -> Result:
        """Start an episode: the question, without its answer."""
        self._known = {
            "gold_answer": json.loads(gold_answer),
            "database_name": database_name,
            "order_matters": order_matters,
            "max_steps": max_steps,
            "rule": rule,
            "accepted_rows": accepted_rows and json.loads(accepted_rows),
            "test_suite": test_suite and json.loads(test_suite),
        }
        self._state = State(episode_id=episode_id)
        return Result(text=f"{question_text}\nEvidence: {evidence}" if evidence else question_text)

    def step(self, action: Query, timeout_s: float | None = None, **_: Any) -> Result:
        """The first rows of a query; a reward where it is the answer."""
        self._state.step_count += 1
        rows = _POOL.execute(action.sql, self._known["database_name"])
        shown = "no answer: the query fails" if rows is None else json.dumps(rows[:_SHOWN_ROWS])
        if not action.is_answer:
            return Result(text=shown)
        reward = _POOL.score_sql(action.sql, **self._known)
        return Result(text=shown, done=True, reward=reward)

    @property
    def state(self) -> State:
        """The episode and its number of steps."""
        return self._state


app = create_fastapi_app(TextToSql, Query, Result)
