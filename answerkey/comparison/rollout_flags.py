"""What rollouts show of their question, as flags: models always solve it, or never."""

from __future__ import annotations

from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.core.joined import Record


def find_in_rollouts(pass_rate: Record | None, *, gold_risk: float | None) -> list[Finding]:
    """The finding in the pass rate of a question, if there is one.

    >>> rate = {"total": 8, "database": 1, "suite": 0, "models": {}}
    >>> find_in_rollouts(rate, gold_risk=0.7)[0].evidence
    {'total': 8, 'database': 1, 'suite': 0, 'gold_risk': 0.7}

    A question that no rollout solves is hard, or its gold SQL is wrong: so the evidence has the
    gold risk. One without rollouts has no finding.
    """
    if pass_rate is None:
        return []
    counts = {name: pass_rate[name] for name in ("total", "database", "suite")}
    if counts["suite"] == counts["total"]:
        return [Finding(Flag.ALWAYS_SOLVED, counts)]
    if counts["suite"] == 0:
        return [Finding(Flag.NEVER_SOLVED, {**counts, "gold_risk": gold_risk})]
    return []
