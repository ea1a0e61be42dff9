"""An OpenEnv environment for data/exports/openenv: look around in a database, then answer.

    uvicorn examples.openenv_environment:app

A line of the export is what `reset` takes. A policy sends queries and sees their rows; the query
that it marks as its answer is scored by the stored gold answer and ends the episode.
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

from answerkey.reward import RewardPool, score

_SHOWN_ROWS = 20
_POOL = RewardPool()  # of all episodes; options go here: workers, limits, databases


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
        rule: str | None = None,
        accepted_rows: str | None = None,
        **_: Any,
    ) -> Result:
        """Start an episode: the question, without its answer."""
        self._database_name = database_name
        self._gold_answer = json.loads(gold_answer)
        self._known = {
            "order_matters": order_matters,
            "rule": rule,
            "accepted_rows": None if accepted_rows is None else json.loads(accepted_rows),
        }
        self._state = State(episode_id=episode_id)
        return Result(text=f"{question_text}\nEvidence: {evidence}" if evidence else question_text)

    def step(self, action: Query, timeout_s: float | None = None, **_: Any) -> Result:
        """The first rows of a query; a reward where it is the answer."""
        self._state.step_count += 1
        rows = _POOL.execute(action.sql, self._database_name)
        shown = "no answer: the query fails" if rows is None else json.dumps(rows[:_SHOWN_ROWS])
        if not action.is_answer:
            return Result(text=shown)
        reward = 0.0 if rows is None else score(rows, self._gold_answer, **self._known)
        return Result(text=shown, done=True, reward=reward)

    @property
    def state(self) -> State:
        """The episode and its number of steps."""
        return self._state


app = create_fastapi_app(TextToSql, Query, Result)
