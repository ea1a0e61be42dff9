"""Flags by rollouts: a question that models always solve, or never."""

from __future__ import annotations

import pytest

from answerkey.comparison.join import find_in_rollouts
from answerkey.records import Finding


@pytest.mark.parametrize(
    ("counts", "flag", "more"),
    [
        ((4, 4, 4), "always_solved", {}),
        ((4, 4, 3), None, {}),
        ((4, 1, 1), None, {}),
        ((4, 4, 0), "never_solved", {"gold_risk": 0.6}),
    ],
)
def test_all_rollouts_or_none_raise_a_flag(counts, flag, more):
    evidence = dict(zip(("total", "database", "suite"), counts, strict=True))
    found = find_in_rollouts({**evidence, "models": {}}, gold_risk=0.6)
    assert found == ([] if flag is None else [Finding(flag, evidence | more)])


def test_question_without_rollouts_has_no_flag():
    assert find_in_rollouts(None, gold_risk=0.6) == []
