"""verifiers: a taskset whose rewards come from stored gold answers.

    environment = load_environment(split="train", tools=True)

With `tools`, a model may look around in the database of its question: run_sql shows the first rows
of a query. Its last reply is scored, as without tools.

Source: docs/ and verifiers.v1 of verifiers 0.4.
"""

from __future__ import annotations

import asyncio
import sys
from functools import cache
from typing import Any

import verifiers.v1 as vf

from answerkey.environments.questions import (
    EXPORTS,
    explain_reply,
    list_terms,
    read_prompted_questions,
    show_rows,
)
from answerkey.reward import RewardPool

__all__ = ["TextToSqlTaskset", "load_environment"]

# verifiers finds a taskset by the name of a module at the top level, whatever package it is of.
TASKSET_ID = "answerkey_text_to_sql"


class RewardConfig(vf.TaskConfig):
    """Options of the reward (`answerkey.reward`), under --env.taskset.task."""

    workers: int | None = None
    databases: str | None = None
    test_suites: str | None = None
    limits: dict[str, int] | None = None
    rule: str | None = None
    rel_tol: float | None = None


def make_pool(config: RewardConfig) -> RewardPool:
    """The pool of such options, one for all questions of a process. Raises as RewardPool."""
    return _find_pool(config.model_dump_json(include=set(RewardConfig.__annotations__)))


@cache
def _find_pool(config: str) -> RewardPool:
    options = RewardConfig.model_validate_json(config)
    return RewardPool(**{name: getattr(options, name) for name in RewardConfig.__annotations__})


class QuestionData(vf.TaskData):
    """A question; terms: the columns by which its answer is scored."""

    terms: dict[str, Any]


class QuestionState(vf.State):
    """What the tool must know of the question that is asked."""

    database_name: str = ""


class ToolConfig(vf.SharedToolsetConfig):
    """Where the tool finds databases, and what a query may use."""

    reward: RewardConfig = RewardConfig()


class SqlToolset(vf.Toolset[ToolConfig, QuestionState]):
    """One server for all questions: each call says which database is meant."""

    TOOL_PREFIX = None

    @vf.tool
    async def run_sql(self, sql: str) -> str:
        """Run a query on the database of the question, which it cannot change. Gives the first rows
        as JSON, or the error of SQLite."""
        pool = make_pool(self.config.reward)
        return await asyncio.to_thread(show_rows, pool, sql, self.state.database_name)


class TextToSqlTask(vf.Task[QuestionData, QuestionState, RewardConfig]):
    """A question, and its reward."""

    @property
    def key(self) -> str:
        return self.data.id

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        trace.state.database_name = self.data.terms["database_name"]

    @vf.reward
    async def is_right(self, trace: vf.Trace) -> float:
        """1.0 where the query of the last reply gives the gold answer; why not, in trace.info."""
        pool = make_pool(self.config)
        found = await asyncio.to_thread(explain_reply, pool, trace.last_reply, self.data.terms)
        trace.info["reason"], trace.info["detail"] = found.reason, found.detail
        return found.reward


class TextToSqlConfig(vf.TasksetConfig):
    """Which questions, and whether there is a tool, under --env.taskset."""

    exports: str = EXPORTS
    split: str = "train"
    tools: bool = False
    task: RewardConfig = RewardConfig()


class TextToSqlTaskset(vf.Taskset[TextToSqlTask, TextToSqlConfig]):
    """The questions of a split."""

    def load(self) -> list[TextToSqlTask]:
        """Raises FileNotFoundError where exports or databases are missing."""
        make_pool(self.config.task)
        return [
            TextToSqlTask(
                QuestionData(id=found.question_id, prompt=found.prompt, terms=list_terms(found)),
                self.config.task,
            )
            for found in read_prompted_questions(self.config.exports, self.config.split)
        ]

    @classmethod
    def toolsets(cls, config: TextToSqlConfig) -> list[vf.Toolset]:
        if not config.tools:
            return []
        # The server runs in a folder of its own.
        folder = make_pool(config.task).find_folder()
        reward = config.task.model_copy(update={"databases": folder})
        return [SqlToolset(ToolConfig(reward=reward))]


def load_environment(
    *,
    exports: str = EXPORTS,
    split: str = "train",
    tools: bool = False,
    max_turns: int | None = None,
    **reward: Any,
) -> vf.Env:
    """The environment of a split: single turn, or with `tools` as many as max_turns allows.

    reward: options of `answerkey.reward.RewardPool`.

    Raises:
        FileNotFoundError: where the databases are missing.
    """
    sys.modules.setdefault(TASKSET_ID, sys.modules[__name__])
    taskset = {
        "id": TASKSET_ID,
        "exports": exports,
        "split": split,
        "tools": tools,
        "task": reward,
    }
    agent = {
        "harness": {"id": "null"},  # a chat with the tools of the taskset, and with no others
        "runtime": {"type": "subprocess"},  # the model runs nothing there
        "max_turns": max_turns,
    }
    environment = vf.load_environment(vf.SingleAgentEnvConfig(taskset=taskset, agent=agent))
    make_pool(environment.taskset.config.task)
    return environment


if __name__ == "__main__":
    SqlToolset.run()
