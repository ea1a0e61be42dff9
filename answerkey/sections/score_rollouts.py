"""The sections score_rollouts and reward: how answers of models are scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from answerkey.base.kinds import From1, Text, whole


@dataclass(frozen=True, slots=True)
class ScoreRollouts:
    """min_rollouts: a question with fewer has no pass rate."""

    min_rollouts: From1 = 4


@dataclass(frozen=True, slots=True)
class Reward:
    """What the reward is told of every question.

    max_steps: the most virtual machine steps of a prediction, however many gold SQL takes.
    rule: answers are compared by it if the corpus names no rule.
    """

    max_steps: Annotated[int, whole(1_000_000)] = 100_000_000
    rule: Text = "strict"
