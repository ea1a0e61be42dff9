"""OpenEnv: a server for text-to-SQL, to look around in a database and then answer.

    uvicorn --factory answerkey.environments.openenv:make_app

A policy sends queries and sees their first rows. The query that it marks as its answer is scored
and ends the episode. `reset` takes a line of data/exports/openenv; or `question_id` or `seed`, if
the server holds questions of its own (`source`).

OpenEnv makes a new environment for each request over HTTP: so an environment that is closed lays
its episode aside, and a step finds it by `episode_id`.

Source: Environment, HTTPEnvServer and ResetRequest in OpenEnv (core/env_server).
"""

from __future__ import annotations

import os
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app

from answerkey.environments.questions import explain_query, list_terms, load_questions, run_sql
from answerkey.reward import RewardPool

MAX_CLIENTS = 1024
MAX_EPISODES = 10_000  # laid aside at once; the oldest is given up
Columns = dict[str, Any]  # the question, and what its reward must know


class Query(Action):
    """A query; the last one of an episode is the answer."""

    sql: str
    is_answer: bool = False


class Result(Observation):
    """The question, or what a query returned; and the episode, which a step over HTTP names."""

    text: str
    episode_id: str


class TextToSql(Environment):
    """One question of one database; those of the server by their ids, and episodes laid aside."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, pool: RewardPool, questions: Any = None, aside: Any = None) -> None:
        super().__init__()
        self._pool = pool
        self._questions: dict[str, Columns] = questions or {}
        self._aside: dict[str, tuple[State, Columns]] = {} if aside is None else aside
        self._episode: tuple[State, Columns] | None = None

    def reset(self, seed: int = 0, episode_id: str | None = None, **columns: Any) -> Result:
        """Start an episode: the question, without its answer."""
        if "gold_answer" not in columns:
            names = list(self._questions)
            name = columns.get("question_id") or (names and names[(seed or 0) % len(names)])
            if name not in names:
                raise HTTPException(422, f"No question {name}: expected a line of the export")
            columns = self._questions[name]
        episode_id = episode_id or uuid4().hex
        self._episode = State(episode_id=episode_id), columns
        texts = columns["question_text"], columns.get("evidence")
        return Result(text="\nEvidence: ".join(filter(None, texts)), episode_id=episode_id)

    def step(
        self, action: Query, timeout_s: float | None = None, episode_id: str | None = None, **_: Any
    ) -> Result:
        """The first rows of a query; a reward if it is the answer."""
        if self._episode is None:
            only = next(iter(self._aside)) if len(self._aside) == 1 else None
            self._episode = self._aside.pop(episode_id or only, None)
        if self._episode is None:
            raise HTTPException(409, f"{len(self._aside)} episodes are open: send an episode_id")
        state, columns = self._episode
        state.step_count += 1
        text = run_sql(self._pool, action.sql, columns["database_name"])
        if not action.is_answer:
            return Result(text=text, episode_id=state.episode_id)
        found = explain_query(self._pool, action.sql, columns)
        self._episode = None
        return Result(text=text, episode_id=state.episode_id, done=True, reward=found.reward)

    def close(self) -> None:
        """Lay an episode aside that has not ended."""
        if self._episode is not None:
            self._aside[self._episode[0].episode_id] = self._episode
            self._episode = None
            while len(self._aside) > MAX_EPISODES:
                del self._aside[next(iter(self._aside))]

    @property
    def state(self) -> State:
        """The episode and its number of steps."""
        return State() if self._episode is None else self._episode[0]


def make_app(source: str | None = None, split: str = "train", **reward: Any) -> FastAPI:
    """The server. `source` says whose questions it holds, as `answerkey.load` takes it (else
    ANSWERKEY_SOURCE; else the clients send theirs); `reward` are options of `RewardPool`. Raises
    FileNotFoundError if the questions, or the folder of the databases, are missing.
    """
    source = source or os.environ.get("ANSWERKEY_SOURCE")
    found, folders = load_questions(source, split) if source else ([], {})
    questions = {
        question.question_id: {"question_text": question.prompt, **list_terms(question)}
        for question in found
    }
    pool, aside = RewardPool(**folders | reward), {}

    def make_environment() -> TextToSql:
        return TextToSql(pool, questions, aside)

    return create_fastapi_app(make_environment, Query, Result, max_concurrent_envs=MAX_CLIENTS)
