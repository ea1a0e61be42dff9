"""The environment for SkyRL: played through its own library."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from answerkey.dataset import read_rows
from answerkey.reward import extract_sql
from tests.shared.question_world import LOOKS, QuestionWorld, score_fifty

skyrl_gym = pytest.importorskip("skyrl_gym", reason="needs the extra `skyrl`")
pytestmark = pytest.mark.filterwarnings("ignore")  # of its dependencies


@pytest.fixture
def rows(fifty: QuestionWorld) -> list[dict[str, Any]]:
    import_module("answerkey.environments.skyrl")
    return read_rows(fifty.folder / "data/exports/skyrl/train.parquet")


@pytest.mark.slow
def test_replies_have_the_scores_of_the_reward(
    fifty: QuestionWorld, rows: list[dict[str, Any]]
) -> None:
    rewards = []
    for row, reply in zip(rows, fifty.replies, strict=True):
        prompt = row.pop("prompt")
        environment = skyrl_gym.make(row["env_class"], env_config={"workers": 1}, extras=row)
        assert environment.init(prompt)[0] == prompt
        step = environment.step(reply)
        assert step["done"]
        rewards.append(step["reward"])
    assert rewards == score_fifty(fifty)


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_several_turns_show_rows_and_score_the_solution(
    fifty: QuestionWorld, rows: list[dict[str, Any]], look: str, shown: str
) -> None:
    rewards = []
    for row, reply in zip(rows[:10], fifty.replies, strict=False):
        prompt = row.pop("prompt")
        extras = row | {"max_turns": 3}
        environment = skyrl_gym.make(row["env_class"], env_config={"workers": 1}, extras=extras)
        (asked,), _ = environment.init(prompt)
        assert asked["content"].startswith(prompt[0]["content"])
        assert "You have 3 turns" in asked["content"]
        found = environment.step(f"<think>What is there?</think><sql>{look}</sql>")
        assert (found["done"], found["reward"]) == (False, 0.0)
        assert shown in found["observations"][0]["content"]
        sql = extract_sql(reply)
        end = environment.step(reply if sql is None else f"<solution>{sql}</solution>")
        assert end["done"]
        rewards.append(end["reward"])
    assert rewards == score_fifty(fifty)[:10]


def test_the_last_turn_ends_without_a_solution(
    fifty: QuestionWorld, rows: list[dict[str, Any]]
) -> None:
    row = rows[0]
    extras = row | {"max_turns": 2}
    environment = skyrl_gym.make("answerkey", env_config={"workers": 1}, extras=extras)
    assert not environment.step("<sql>SELECT 1</sql>")["done"]
    end = environment.step(f"<sql>{row['extra_info']['gold_sql']}</sql>")
    assert (end["done"], end["reward"]) == (True, 0.0)
