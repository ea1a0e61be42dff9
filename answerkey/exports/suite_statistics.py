"""Statistics of test suites: what they and the databases tell from the gold queries of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def average_scores(suites: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The means of the mutation scores, and of how many questions they are.

    >>> average_scores([{"mutation_score": {"database": 0.5, "suite": 1.0}}])
    {'questions': 1, 'database': 0.5, 'suite': 1.0}

    A question that has no mutation score is in no mean; a mean of no question is None.
    """
    scores = [suite["mutation_score"] for suite in suites if suite["mutation_score"] is not None]

    def average(name: str) -> float | None:
        return round(sum(score[name] for score in scores) / len(scores), 4) if scores else None

    return {
        "questions": len(scores),
        "database": average("database"),
        "suite": average("suite"),
    }
