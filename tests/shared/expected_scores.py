"""What every environment must give: the scores of the fifty replies by `answerkey.reward`, and what
its tool shows."""

from __future__ import annotations

from answerkey.reward import score_completions
from tests.shared.question_world import QuestionWorld

# Queries of the tool run_sql, and what each shows.
LOOKS = [
    ("SELECT name FROM ship ORDER BY name LIMIT 1", '[["Alda"]]'),
    ("SELECT wage FROM ship", "sql_error: no such column: wage"),
    ("DELETE FROM ship", "not_a_select"),
]


def score_fifty(world: QuestionWorld) -> list[float]:
    """The rewards, of which some are 1.0 and some are 0.0."""
    facts = [example.facts for example in world.examples]
    columns = {name: [fact[name] for fact in facts] for name in facts[0]}
    answers = [example.ground_truth for example in world.examples]
    rewards = score_completions(world.replies, workers=1, gold_answer=answers, **columns)
    assert set(rewards) == {0.0, 1.0}
    return rewards
