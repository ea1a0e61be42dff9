"""SkyRL's environment `answerkey`, for data/exports/skyrl: one reply, or several turns.

Import it before training creates environments. Databases are found as answerkey.reward finds them.

With `generator.max_turns` above 1 a reply may hold a query between <sql> and </sql>: its first rows
come back between <observation> and </observation>. The query between <solution> and </solution> is
scored and ends the episode, as do a reply without tags and the last turn.

Source: BaseTextEnv and the environment `text2sql` of skyrl-gym, whose tags these are.
"""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput, ConversationType
from skyrl_gym.envs.registration import register, registry

from answerkey.engines.names import SQLITE, TITLES
from answerkey.environments.questions import explain_query, find_tag, run_sql
from answerkey.reward import SharedPool, extract_sql

NAME = "answerkey"
_TURNS = (
    "You have {turns} turns. Before you answer you may look around in the database: write a query"
    " between <sql> and </sql>, and nothing behind it. Its first rows, or the error of {title},"
    " come back between <observation> and </observation>. Write the query that answers the question"
    " between <solution> and </solution>."
)


class AnswerkeyEnvironment(BaseTextEnv):
    """An episode of one question.

    extras: the columns of a row, and `max_turns`.
    env_config: options of the reward: workers, limits, rule, rel_tol, databases, test_suites.
    """

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        extras = extras or {}
        self.max_turns = extras.get("max_turns", 1)
        self.pool = SharedPool(**dict(env_config or {}))
        gold_answer = extras["reward_spec"]["ground_truth"]
        self.columns = {**extras["extra_info"], "gold_answer": gold_answer}

    def init(self, prompt: ConversationType) -> tuple[ConversationType, dict[str, Any]]:
        """Return the prompt, which names the tags if there are several turns."""
        if self.max_turns > 1:
            last, title = prompt[-1], TITLES[self.columns.get("engine") or SQLITE]
            content = f"{last['content']}\n\n{_TURNS.format(turns=self.max_turns, title=title)}"
            prompt = [*prompt[:-1], {**last, "content": content}]
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Answer a query with its rows, or score the reply and end."""
        self.turns += 1
        solution, query = find_tag(action, "solution"), find_tag(action, "sql")
        if self.turns < self.max_turns and solution is None and query is not None:
            name, now = self.columns["database_name"], self.columns.get("now")
            rows = run_sql(self.pool, query, name, now)
            left = f"<reminder>{self.max_turns - self.turns} turns left.</reminder>"
            content = f"<observation>{rows}\n{left}</observation>"
            shown = [{"role": "user", "content": content}]
            return BaseTextEnvStepOutput(observations=shown, reward=0.0, done=False, metadata={})
        sql = extract_sql(action if solution is None else solution) or solution
        explained = explain_query(self.pool, sql, self.columns)
        why = {"reason": explained.reason, "detail": explained.detail}
        return BaseTextEnvStepOutput(
            observations=[], reward=explained.reward, done=True, metadata=why
        )


if NAME not in registry:
    register(id=NAME, entry_point=AnswerkeyEnvironment)
