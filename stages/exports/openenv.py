"""OpenEnv: JSON Lines, each line what an environment's reset takes to start an episode.

A line may be the body of POST /reset, or the `data` of a reset message, as it is: OpenEnv hands the
fields that it does not know to `reset(seed, episode_id, **fields)`. Those two it does know are left
to the trainer, since a question is played many times. The policy never sees a line: the answer key
stays with the environment.

Source: ResetRequest and Environment.reset in OpenEnv (core/env_server/types.py, interfaces.py).
"""

from __future__ import annotations

from typing import Any

from stages.exports.prompts import Exercise


def make_reset(exercise: Exercise) -> dict[str, Any]:
    """The fields of a reset; gold_answer is JSON text, so that tables can hold the lines too."""
    return {
        "question_id": exercise.question["question_id"],
        "question_text": exercise.question["question_text"],
        "evidence": exercise.evidence,
        "database_name": exercise.question["database_name"],
        "gold_answer": exercise.ground_truth,
        "answer_type": exercise.question["answer_type"],
        "order_matters": exercise.order_matters,
        "difficulty": exercise.question["difficulty"],
        "split": exercise.question["split"],
    }
