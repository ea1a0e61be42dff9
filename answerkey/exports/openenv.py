"""OpenEnv: JSON Lines, each line what an environment's reset takes to start an episode.

A line may be the body of POST /reset, or the `data` of a reset message, as it is: OpenEnv hands the
fields that it does not know to `reset(seed, episode_id, **fields)`. Those two it does know are left
to the trainer, since a question is played many times. The policy never sees a line: the answer key
stays with the environment.

Source: ResetRequest and Environment.reset in OpenEnv (core/env_server/types.py, interfaces.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from answerkey.dataset import Question, list_reward_terms
from answerkey.records import encode_json, write_jsonl


def make_reset(question: Question) -> dict[str, Any]:
    """The fields of a reset; gold_answer, accepted_rows and test_suite are JSON text, so that
    tables can hold the lines too."""
    return {
        "question_id": question.question_id,
        "question_text": question.question_text,
        "evidence": question.evidence,
        "database_name": question.database_name,
        "gold_answer": encode_json(question.gold_answer).decode(),
        "answer_type": question.answer_type,
        **list_reward_terms(question),
        "difficulty": question.difficulty,
        "split": question.split,
    }


def write_resets(path: Path, questions: Iterable[Question]) -> int:
    """Write a line for each question; how many. Without a question there is no file."""
    count = write_jsonl(path, map(make_reset, questions))
    if not count:
        path.unlink()
    return count
