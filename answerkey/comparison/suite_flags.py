"""What a test suite shows of its question, as flags: its gold answer is weak, or its text may mean
two things."""

from __future__ import annotations

from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.core.joined import Record

BY_HEART = "by_heart"  # the neighbor that says the stored answer


def find_in_suite(suite: Record, *, min_mutation_score: float) -> list[Finding]:
    """The findings in the record of a test suite, in the order of the vocabulary; {}: none.

    >>> suite = {"mutation_score": {"database": 0.25, "suite": 0.4}, "latent_ambiguity": None}
    >>> find_in_suite(suite, min_mutation_score=0.5)[0].evidence
    {'database': 0.25, 'suite': 0.4}

    Weak is also a question whose stored answer passes behind a guard. One that has no suite by its
    rule of comparison is not weak: nothing is known of it.
    """
    found = []
    if (ambiguity := suite.get("latent_ambiguity")) is not None:
        found.append(Finding(Flag.LATENT_AMBIGUITY, ambiguity))
    score = suite.get("mutation_score")
    by_heart = suite.get("operators", {}).get(BY_HEART)
    if by_heart is not None and not by_heart["killed"]:
        found.append(Finding(Flag.WEAK_ANSWER, {**(score or {}), BY_HEART: by_heart}))
    elif score is not None and score["suite"] < min_mutation_score:
        found.append(Finding(Flag.WEAK_ANSWER, score))
    return found
