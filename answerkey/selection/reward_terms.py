"""Terms of the reward of a question: its budget of steps, its rule, its database.

score_rollouts needs this and nothing else of the room.
"""

from __future__ import annotations

from answerkey.dataset import Question
from answerkey.sections.score_rollouts import Reward

_STEPS_OF_GOLD = 20  # times those of gold SQL is what a prediction may take


def add_terms(question: Question, database_sha256: str, reward: Reward) -> Question:
    """The question with what a reward must know of it."""
    return question._replace(
        max_steps=bound_steps(question.steps, reward),
        rule=question.source.get("grading_method") or reward.rule,
        database_sha256=database_sha256,
    )


def bound_steps(gold_steps: int, reward: Reward) -> int:
    """How many steps a prediction may take, by the steps of gold SQL.

    >>> bound_steps(1_000_000, Reward(max_steps=100_000_000, rule="strict"))
    20000000
    """
    return min(_STEPS_OF_GOLD * gold_steps, reward.max_steps)
