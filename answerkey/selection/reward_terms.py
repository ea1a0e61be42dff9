"""Reward terms: what params tell the reward, and the budget that a prediction has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from answerkey.core.errors import InputError
from answerkey.core.sections import Reward
from answerkey.scoring.rules import read_rule

_STEPS_OF_GOLD = 20  # times those of gold SQL is what a prediction may take


def read_reward(values: Mapping[str, Any]) -> Reward:
    """What params say of the reward.

    Raises:
        InputError: where its rule is none.
    """
    reward = Reward(**values)
    try:
        read_rule(reward.rule)
    except ValueError as error:
        raise InputError(f"params.yaml: reward.rule: {error}") from error
    return reward


def bound_steps(gold_steps: int, reward: Reward) -> int:
    """How many steps a prediction may take, by the steps of gold SQL.

    >>> bound_steps(1_000_000, Reward(max_steps=100_000_000, rule="strict"))
    20000000
    """
    return min(_STEPS_OF_GOLD * gold_steps, reward.max_steps)
