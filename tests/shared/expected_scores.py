"""The scores of the fifty replies by `answerkey.reward`, which every environment must give."""

from __future__ import annotations

from answerkey.reward import score_completions
from tests.shared.question_world import QuestionWorld


def score_fifty(world: QuestionWorld) -> list[float]:
    """The rewards, of which some are 1.0 and some are 0.0."""
    facts = [example.facts for example in world.examples]
    columns = {name: [fact[name] for fact in facts] for name in facts[0]}
    answers = [example.ground_truth for example in world.examples]
    rewards = score_completions(world.replies, workers=1, gold_answer=answers, **columns)
    assert set(rewards) == {0.0, 1.0}
    return rewards
