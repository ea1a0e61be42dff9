"""SkyRL's environment `answerkey`, for data/exports/skyrl: one query, scored by the stored answer.

Import it where training starts, before environments are made. Databases are found as
answerkey.reward finds them: in data/databases and data/test_suites, or where ANSWERKEY_DATABASES
and ANSWERKEY_TEST_SUITES say.
"""

from __future__ import annotations

from typing import Any

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from skyrl_gym.envs.registration import register, registry

from answerkey.reward import SharedPool

NAME = "answerkey"


class AnswerkeyEnvironment(BaseTextEnv):
    """An episode of one turn; `extras` are the columns of a row, and `env_config` may hold options
    of the reward: workers, limits, rule, rel_tol, databases, test_suites."""

    def __init__(self, env_config: Any = None, extras: dict[str, Any] | None = None) -> None:
        super().__init__()
        extras = extras or {}
        self.pool = SharedPool(**dict(env_config or {}))
        self.source = extras["data_source"]
        self.ground_truth = extras["reward_spec"]["ground_truth"]
        self.extra_info = extras["extra_info"]

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Score the completion and end."""
        reward = self.pool.compute_score(self.source, action, self.ground_truth, self.extra_info)
        return BaseTextEnvStepOutput(observations=[], reward=reward, done=True, metadata={})


if NAME not in registry:
    register(id=NAME, entry_point=AnswerkeyEnvironment)
