"""How far two readers agree."""

from __future__ import annotations

import pytest

from answerkey.risk.agreement import describe_agreement, find_agreement, find_kappa


@pytest.mark.parametrize(
    ("both", "left", "right", "neither", "kappa"),
    [
        (20, 5, 10, 15, 0.4),  # the grants of which textbooks tell
        (45, 15, 25, 15, 0.1304),
        (25, 35, 5, 35, 0.2593),
        (0, 10, 10, 0, -1.0),
        (10, 0, 0, 0, None),
        (0, 0, 0, 0, None),
    ],
)
def test_kappa_is_that_of_published_tables(both, left, right, neither, kappa):
    pairs = [(True, True), (True, False), (False, True), (False, False)]
    counts = zip(pairs, (both, left, right, neither), strict=True)
    assert find_kappa([pair for pair, count in counts for _ in range(count)]) == kappa


def test_readers_who_part_on_what_is_ambiguous_agree_on_wrong_or_not():
    pairs = [("right", "ambiguous"), ("ambiguous", "right"), ("wrong", "wrong"), ("right", "right")]
    agreement = find_agreement(pairs)
    assert agreement.same == 2
    assert agreement.kappa is not None
    assert agreement.kappa < 0.3
    assert agreement.kappa_of_wrong == 1.0
    assert describe_agreement(agreement).endswith("of wrong or not 1.00")
