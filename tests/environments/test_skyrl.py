"""The environment for SkyRL: played through its own library."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.shared.expected_scores import score_fifty
from tests.shared.question_world import QuestionWorld

skyrl_gym = pytest.importorskip("skyrl_gym", reason="needs the extra `skyrl`")
pytestmark = pytest.mark.filterwarnings("ignore")  # of its dependencies


def test_replies_have_the_scores_of_the_reward(fifty: QuestionWorld) -> None:
    import pyarrow.parquet

    import_module("answerkey.environments.skyrl")
    rows = pyarrow.parquet.read_table("data/exports/skyrl/train.parquet").to_pylist()
    rewards = []
    for row, reply in zip(rows, fifty.replies, strict=True):
        prompt = row.pop("prompt")
        environment = skyrl_gym.make(row["env_class"], env_config={"workers": 1}, extras=row)
        assert environment.init(prompt)[0] == prompt
        step = environment.step(reply)
        assert step["done"]
        rewards.append(step["reward"])
    assert rewards == score_fifty(fifty)


def test_missing_databases_are_said_at_once(fifty: QuestionWorld) -> None:
    import_module("answerkey.environments.skyrl")
    extras = {"data_source": "any", "reward_spec": {"ground_truth": "1"}, "extra_info": {}}
    with pytest.raises(FileNotFoundError, match="No databases at"):
        skyrl_gym.make("answerkey", env_config={"databases": "nowhere"}, extras=extras)
