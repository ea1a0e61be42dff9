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
        max_steps=min(_STEPS_OF_GOLD * question.steps, reward.max_steps),
        rule=question.source.get("grading_method") or reward.rule,
        database_sha256=database_sha256,
    )
