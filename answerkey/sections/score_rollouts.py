"""The sections score_rollouts and reward: how outputs of models are scored."""

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
    """The terms of a reward that are the same for every question.

    max_steps: the most virtual machine steps of a prediction, however many gold SQL takes.
    max_cpu_s: the seconds of CPU time of a prediction, in an engine that counts no steps.
    rule: the rule of comparison, if the corpus names none.
    """

    max_steps: Annotated[int, whole(1_000_000)] = 100_000_000
    max_cpu_s: From1 = 10
    rule: Text = "strict"
