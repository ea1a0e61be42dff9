"""verifiers: text-to-SQL questions whose reward compares with stored gold answers.

    environment = load_environment(source="your-name/your-dataset", split="train", tools=True)

With `tools`, a model may look around in the database of its question: run_sql shows the first rows
of a query. Its last reply is scored, as without tools.

Source: docs/ and verifiers.v1 of verifiers 0.4.
"""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import verifiers.v1 as vf

from answerkey.environments import questions as core
from answerkey.reward import RewardPool

__all__ = ["TextToSqlTaskset", "load_environment"]

_load = cache(core.load_questions)


@cache
def find_pool(options: str) -> RewardPool:
    """The pool of some options, as JSON, one for a process. Raises as RewardPool."""
    return RewardPool(**json.loads(options))


class RewardConfig(vf.TaskConfig):
    """reward: options of `answerkey.reward.RewardPool`, such as {"rule": "spider"}."""

    reward: dict[str, Any] | None = None


class QuestionData(vf.TaskData):
    """A question; terms: the columns by which its answer is scored."""

    terms: dict[str, Any]


class QuestionState(vf.State):
    """What the tool must know of the question that is asked."""

    database_name: str = ""
    now: str | None = None


class ToolConfig(vf.SharedToolsetConfig):
    """options: of the reward, as JSON: where databases are, and what a query may use."""

    options: str = "{}"


class SqlToolset(vf.Toolset[ToolConfig, QuestionState]):
    """One server for all questions: each call says which database is meant."""

    TOOL_PREFIX = None

    @vf.tool
    async def run_sql(self, sql: str) -> str:
        """Run a query on the database of the question, which it cannot change. Gives the first rows
        as JSON, or the error of its engine."""
        pool = find_pool(self.config.options)
        name, now = self.state.database_name, self.state.now
        return await asyncio.to_thread(core.run_sql, pool, sql, name, now)


class TextToSqlTask(vf.Task[QuestionData, QuestionState, RewardConfig]):
    """A question, and its reward."""

    @property
    def key(self) -> str:
        return self.data.id

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        trace.state.database_name = self.data.terms["database_name"]
        trace.state.now = self.data.terms.get("now")

    @vf.reward
    async def is_right(self, trace: vf.Trace) -> float:
        """1.0 if the query of the last reply gives the gold answer; why not, in trace.info."""
        pool = find_pool(json.dumps(self.config.reward))
        found = await asyncio.to_thread(core.explain_reply, pool, trace.last_reply, self.data.terms)
        trace.info["reason"], trace.info["detail"] = found.reason, found.detail
        return found.reward


class TextToSqlConfig(vf.TasksetConfig):
    """Which questions, and whether there is a tool, under --env.taskset."""

    source: str = core.EXPORTS
    split: str = "train"
    tools: bool = False
    task: RewardConfig = RewardConfig()

    def find_options(self) -> dict[str, Any]:
        """The options of the reward, with an absolute folder: the tool's server runs elsewhere."""
        options = _load(self.source, self.split)[1] | (self.task.reward or {})
        return options | {"databases": find_pool(json.dumps(options)).find_folder()}


class TextToSqlTaskset(vf.Taskset[TextToSqlTask, TextToSqlConfig]):
    """The questions of a split."""

    def load(self) -> list[TextToSqlTask]:
        """Raises FileNotFoundError if questions or databases are missing."""
        task = self.config.task.model_copy(update={"reward": self.config.find_options()})
        return [
            TextToSqlTask(
                QuestionData(id=row.question_id, prompt=row.prompt, terms=core.list_terms(row)),
                task,
            )
            for row in _load(self.config.source, self.config.split)[0]
        ]

    @classmethod
    def toolsets(cls, config: TextToSqlConfig) -> list[vf.Toolset]:
        options = json.dumps(config.find_options())
        return [SqlToolset(ToolConfig(options=options))] if config.tools else []


def load_environment(*, max_turns: int | None = None, **taskset: Any) -> vf.Env:
    """The environment of a split: single turn, or with `tools` as many as max_turns allows.

    taskset: source, split, tools, and options of `answerkey.reward.RewardPool`.

    Raises:
        FileNotFoundError: if the questions or the databases are missing.
    """
    known = {name: taskset.pop(name) for name in ("source", "split", "tools") if name in taskset}
    known |= {"id": "answerkey_text_to_sql", "task": {"reward": taskset}}
    agent = {
        "harness": {"id": "null"},  # a chat with the tools of the taskset, and with no others
        "runtime": {"type": "subprocess"},  # the model runs nothing there
        "max_turns": max_turns,
    }
    environment = vf.load_environment(vf.SingleAgentEnvConfig(taskset=known, agent=agent))
    environment.taskset.config.find_options()
    return environment


if __name__ == "__main__":
    SqlToolset.run()
