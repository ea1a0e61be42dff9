"""OpenEnv: a server for text-to-SQL, where a policy queries a database and then answers.

    uvicorn --factory answerkey.environments.openenv:make_app

A policy sends queries and sees their first rows. The query that it marks as its answer is scored
and ends the episode. `reset` needs a line of data/exports/openenv; or `question_id` or `seed`, if
the server has questions of its own (`source`).

OpenEnv creates a new environment for each HTTP request. So an environment that is closed stores its
episode, and a step finds it by `episode_id`. Data from clients is limited in size, and checked
before an episode starts.

Source: Environment, HTTPEnvServer and ResetRequest in OpenEnv (core/env_server).
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import uuid4

from fastapi import FastAPI, HTTPException
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app
from pydantic import (
    BaseModel,
    BeforeValidator,
    Json,
    JsonValue,
    NonNegativeInt,
    ValidationError,
)
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from answerkey.base.log import spell_count
from answerkey.dataset import Question
from answerkey.engines.names import SQLITE, TITLES
from answerkey.engines.sqlite.clock import describe_clock, read_instant
from answerkey.environments.questions import (
    explain_query,
    list_terms,
    load_questions,
    run_sql,
)
from answerkey.reward import Options, RewardPool

MAX_CLIENTS = 1024
MAX_EPISODES = 10_000  # open at once; beyond, the oldest that is not in use is dropped
MAX_EPISODES_BYTES = 256_000_000  # of the data that clients sent for them
MAX_BODY_BYTES = 4_000_000  # a line of the export has some thousands
Columns = dict[str, Any]  # the question, and the terms of its reward


class OtherAnswer(BaseModel):
    """Another right query, and its answer."""

    sql: str
    answer: JsonValue
    order_matters: bool = True
    accepted_rows: list[JsonValue] | None = None


class SuiteDatabase(BaseModel):
    """A database of a test suite."""

    path: str
    sha256: str
    gold_answer: JsonValue
    order_matters: bool
    accepted_rows: list[JsonValue] | None = None
    other_answers: list[OtherAnswer] | None = None


class Line(BaseModel):
    """The fields of a line of data/exports/openenv that an episode needs."""

    question_text: str
    evidence: str | None = None
    database_name: str
    gold_answer: Json[JsonValue]
    order_matters: bool
    engine: str | None = None
    max_steps: NonNegativeInt | None = None
    max_cpu_s: NonNegativeInt | None = None
    rule: str | None = None
    accepted_rows: Json[list[JsonValue]] | None = None
    other_answers: Json[list[OtherAnswer]] | None = None
    test_suite: Json[list[SuiteDatabase]] | None = None
    database_sha256: str | None = None
    # A reader of JSON may have turned its text into a time.
    now: Annotated[str, BeforeValidator(read_instant)] | None = None


@dataclass(slots=True)
class Episode:
    """A question that is being played. line: the client's data, as JSON; else `columns`, the
    server's own."""

    state: State
    line: bytes = b""
    columns: Columns | None = None
    is_aside: bool = False

    def read_columns(self) -> Columns:
        return json.loads(self.line) if self.columns is None else self.columns


class Episodes:
    """The open episodes of a server by their ids. Each id has one at a time. Their number and their
    bytes are limited. Safe for threads.

    Raises:
        HTTPException: 409 if an id cannot be used now, 503 if there is no room.
    """

    def __init__(self, *, most: int = MAX_EPISODES, most_bytes: int = MAX_EPISODES_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._open: dict[str, Episode] = {}  # the most recently used is the last
        self._bytes = 0

    def open(self, episode: Episode) -> None:
        name = episode.state.episode_id
        with self._lock:
            if name in self._open:
                raise HTTPException(
                    409, f"Episode {name} is open: end it, or choose another episode_id, or none"
                )
            aside = [known for known in self._open if self._open[known].is_aside]
            while self._is_full(episode) and aside:
                self._drop(aside.pop(0))
            if self._is_full(episode):
                raise HTTPException(
                    503, f"No room: {spell_count(len(self._open), 'episode')} in play"
                )
            self._open[name] = episode
            self._bytes += len(episode.line)

    def _is_full(self, episode: Episode) -> bool:
        size = self._bytes + len(episode.line)
        return len(self._open) >= self._most or size > self._most_bytes

    def take(self, name: str | None) -> Episode:
        """Return the episode of a name if it is not in use; without a name, the only one there
        is."""
        with self._lock:
            if name is None and len(self._open) == 1:
                (name,) = self._open
            if name is None:
                words = f"{len(self._open)} episodes are open: send an episode_id"
                raise HTTPException(409, words)
            episode = self._open.get(name)
            if episode is None:
                words = "it has ended, or was given up for newer ones: reset"
                raise HTTPException(409, f"Episode {name} is not open: {words}")
            if not episode.is_aside:
                raise HTTPException(409, f"Episode {name} is being played: wait for its last step")
            episode.is_aside = False
            return episode

    def lay_aside(self, episode: Episode) -> None:
        with self._lock:
            episode.is_aside = True
            self._open[episode.state.episode_id] = self._open.pop(episode.state.episode_id)

    def end(self, episode: Episode) -> None:
        with self._lock:
            self._drop(episode.state.episode_id)

    def _drop(self, name: str) -> None:
        self._bytes -= len(self._open.pop(name).line)


class Query(Action):
    """A query; the last one of an episode is the answer."""

    sql: str
    is_answer: bool = False


class Result(Observation):
    """The question, or what a query returned; and the episode, which a step over HTTP names."""

    text: str
    episode_id: str


class TextToSql(Environment):
    """One question about one database. questions: those of the server, by their ids; episodes:
    those of all environments of the server."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        pool: RewardPool,
        questions: Mapping[str, Columns] | None = None,
        episodes: Episodes | None = None,
    ) -> None:
        super().__init__()
        self._pool = pool
        self._questions = questions or {}
        self._episodes = episodes or Episodes()
        self._episode: Episode | None = None

    def reset(self, seed: int = 0, episode_id: str | None = None, **columns: Any) -> Result:
        """Start an episode: return the question, without its answer.

        Raises:
            HTTPException: 422 if columns are not those of the export; 409 and 503 as `Episodes`.
        """
        state = State(episode_id=episode_id or uuid4().hex)
        if "gold_answer" in columns:
            now = self._check(columns).now
            columns, clock = {**columns, "now": now}, _describe(columns.get("engine"), now)
            kept = {name: columns[name] for name in Line.model_fields if name in columns}
            episode = Episode(state, line=json.dumps(kept).encode())
            if len(episode.line) > MAX_BODY_BYTES:
                words = f"expected {MAX_BODY_BYTES:,} bytes at most, found {len(episode.line):,}"
                raise HTTPException(413, f"The line of a question: {words}")
        else:
            names = list(self._questions)
            name = columns.get("question_id") or (names and names[(seed or 0) % len(names)])
            if not isinstance(name, str) or name not in self._questions:
                raise HTTPException(422, f"No question {name}: expected a line of the export")
            episode = Episode(state, columns=self._questions[name])
            columns, clock = self._questions[name], ""  # its prompt has the clock
        self._end()
        self._episodes.open(episode)
        self._episode = episode
        texts = columns["question_text"], columns.get("evidence")
        text = "\n".join(filter(None, ["\nEvidence: ".join(filter(None, texts)), clock]))
        return Result(text=text, episode_id=state.episode_id)

    def _check(self, columns: Columns) -> Line:
        try:
            line = Line.model_validate(columns)
            explain_query(self._pool, "SELECT 0", columns)
            return line
        except ValidationError as error:
            words = "; ".join(
                f"{'.'.join(map(str, mistake['loc']))}: {mistake['msg']}"
                for mistake in error.errors()
            )
            raise HTTPException(422, f"Expected a line of data/exports/openenv: {words}") from error
        except (ValueError, TypeError, OSError) as error:
            raise HTTPException(422, str(error)) from error

    def step(
        self, action: Query, timeout_s: float | None = None, episode_id: str | None = None, **_: Any
    ) -> Result:
        """Return the first rows of a query; a reward if it is the answer.

        Raises:
            HTTPException: 409 as `Episodes`; 422 if the files of the question are missing.
        """
        if self._episode is None:
            self._episode = self._episodes.take(episode_id)
        columns, state = self._episode.read_columns(), self._episode.state
        state.step_count += 1
        try:
            name, now = columns["database_name"], columns.get("now")
            text = run_sql(self._pool, action.sql, name, now)
            if not action.is_answer:
                return Result(text=text, episode_id=state.episode_id)
            explanation = explain_query(self._pool, action.sql, columns)
        except (ValueError, OSError) as error:
            raise HTTPException(422, str(error)) from error
        self._end()
        return Result(text=text, episode_id=state.episode_id, done=True, reward=explanation.reward)

    def _end(self) -> None:
        if self._episode is not None:
            self._episodes.end(self._episode)
            self._episode = None

    def close(self) -> None:
        """Store an episode that has not ended."""
        if self._episode is not None:
            self._episodes.lay_aside(self._episode)
            self._episode = None

    @property
    def state(self) -> State:
        """Return the episode and its number of steps."""
        return State() if self._episode is None else self._episode.state


def _describe(engine: str | None, now: str | None) -> str:
    """Return what a question of a client does not say: its engine, if that is not SQLite, and the
    time of its clock."""
    title = "" if engine in (None, SQLITE) else f"Write {TITLES[engine]} queries."
    return "\n".join(filter(None, [title, describe_clock(now)]))


def make_app(source: str | None = None, split: str = "train", **reward: Any) -> FastAPI:
    """Return the server. `source` has its questions, as `answerkey.load` reads them (else
    ANSWERKEY_SOURCE; else the clients send theirs); `reward` are options of `RewardPool`. Raises
    FileNotFoundError if the questions, or the folder of the databases, are missing.
    """
    source = source or os.environ.get("ANSWERKEY_SOURCE")
    own_questions: list[Question] = []
    folders: Options = {}
    if source:
        own_questions, folders = load_questions(source, split)
    questions = {
        question.question_id: {"question_text": question.prompt, **list_terms(question)}
        for question in own_questions
    }
    pool, episodes = RewardPool(**{**folders, **reward}), Episodes()

    def make_environment() -> TextToSql:
        return TextToSql(pool, questions, episodes)

    app = create_fastapi_app(make_environment, Query, Result, max_concurrent_envs=MAX_CLIENTS)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BODY_BYTES)
    return app
