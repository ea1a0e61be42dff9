"""OpenEnv: a server for data/exports/openenv, to look around in a database and then answer.

    uvicorn --factory answerkey.environments.openenv:make_app

A line of the export is what `reset` takes. A policy sends queries and sees their first rows, or the
error of SQLite; the query that it marks as its answer is scored and ends the episode.

A WebSocket has an episode of its own. OpenEnv makes a new environment for each request over HTTP:
so an environment that is closed lays its episode aside, and a step finds it by `episode_id`.

Source: Environment, HTTPEnvServer and ResetRequest in OpenEnv (core/env_server).
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from openenv.core.env_server import (
    Action,
    Environment,
    Observation,
    State,
    create_fastapi_app,
)

from answerkey.environments.questions import read_terms, show_rows
from answerkey.reward import RewardPool

MAX_CLIENTS = 1024
_MAX_EPISODES = 10_000  # laid aside at once; the oldest is given up


class Query(Action):
    """A query; the last one of an episode is the answer."""

    sql: str
    is_answer: bool = False


class Result(Observation):
    """The question, or what a query returned; and the episode, which a step over HTTP names."""

    text: str
    episode_id: str


class Episode:
    """A question that is played."""

    def __init__(self, episode_id: str, terms: dict[str, Any]) -> None:
        self.state = State(episode_id=episode_id)
        self.terms = terms


Episodes = OrderedDict[str, Episode]


class TextToSql(Environment):
    """One question of one database; episodes: those that requests over HTTP have laid aside."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, pool: RewardPool, episodes: Episodes | None = None) -> None:
        super().__init__()
        self._pool = pool
        self._aside: Episodes = OrderedDict() if episodes is None else episodes
        self._episode: Episode | None = None

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
        **columns: Any,
    ) -> Result:
        """Start an episode: the question, without its answer."""
        known = {
            "database_name": database_name,
            "gold_answer": gold_answer,
            "order_matters": order_matters,
        }
        name = episode_id or uuid4().hex
        self._episode = Episode(name, read_terms(columns | known))
        text = f"{question_text}\nEvidence: {evidence}" if evidence else question_text
        return Result(text=text, episode_id=name)

    def step(
        self,
        action: Query,
        timeout_s: float | None = None,
        episode_id: str | None = None,
        **_: Any,
    ) -> Result:
        """The first rows of a query; a reward where it is the answer."""
        if self._episode is None:
            self._episode = self._take_up(episode_id)
        episode = self._episode
        episode.state.step_count += 1
        name = episode.state.episode_id
        text = show_rows(self._pool, action.sql, episode.terms["database_name"])
        if not action.is_answer:
            return Result(text=text, episode_id=name)
        reward = self._pool.score_sql(action.sql, **episode.terms)
        self._episode = None
        return Result(text=text, episode_id=name, done=True, reward=reward)

    def _take_up(self, name: str | None) -> Episode:
        """The episode of that name, or the only one, which is no longer laid aside."""
        if name is None and len(self._aside) == 1:
            return self._aside.popitem()[1]
        found = None if name is None else self._aside.pop(name, None)
        if found is None:
            raise HTTPException(
                409,
                f"No episode {name}: it has ended, or never began"
                if name
                else f"{len(self._aside)} episodes are open: expected the `episode_id` of one, as"
                " reset gives it, beside `action`",
            )
        return found

    def close(self) -> None:
        """Lay an episode aside that has not ended."""
        if self._episode is not None:
            self._aside[self._episode.state.episode_id] = self._episode
            self._episode = None
            while len(self._aside) > _MAX_EPISODES:
                self._aside.popitem(last=False)

    @property
    def state(self) -> State:
        """The episode and its number of steps."""
        return State() if self._episode is None else self._episode.state


def make_app(**reward: Any) -> FastAPI:
    """The server; reward: options of `answerkey.reward.RewardPool`.

    Raises:
        FileNotFoundError: where the folder of the databases is missing.
    """
    pool, episodes = RewardPool(**reward), OrderedDict()
    return create_fastapi_app(
        lambda: TextToSql(pool, episodes), Query, Result, max_concurrent_envs=MAX_CLIENTS
    )
