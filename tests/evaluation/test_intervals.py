"""Intervals against values known by other means, and how often they hold."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.evaluation.intervals import difference_interval, mean_interval

CLUSTERS = st.lists(st.lists(st.floats(0, 1), max_size=20), max_size=8).filter(any)


def find_width(clusters: list[list[float]]) -> float:
    low, high = mean_interval(clusters)
    return high - low


def test_interval_of_many_single_questions_is_that_of_the_normal_distribution() -> None:
    low, high = mean_interval([[1.0]] * 300 + [[0.0]] * 700)
    margin = 1.96 * math.sqrt(0.3 * 0.7 / 1000)
    assert low == pytest.approx(0.3 - margin, abs=0.002)
    assert high == pytest.approx(0.3 + margin, abs=0.002)


@pytest.mark.parametrize(
    ("right", "wrong", "expected"), [(4, 6, (0.153, 0.696)), (10, 0, (0.782,))]
)
def test_interval_of_single_questions_is_that_of_jeffreys(right, wrong, expected) -> None:
    """Quantiles of Beta(right + 1/2, wrong + 1/2), as tables have them."""
    found = mean_interval([[1.0] * right + [0.0] * wrong])
    assert found[: len(expected)] == pytest.approx(expected, abs=0.003)


def test_clusters_that_are_right_together_widen_it() -> None:
    alone = find_width([[float(place < 7)] * 1 + [float(place < 3)] for place in range(10)] * 5)
    together = find_width([[float(place < 5)] * 10 for place in range(10)])
    assert together > 2 * alone


@pytest.mark.parametrize("databases", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("score", [0.0, 1.0])
def test_all_or_none_right_has_some_width_and_not_all(databases: int, score: float) -> None:
    low, high = mean_interval([[score] * 22] * databases)
    assert low <= score <= high
    assert 0.01 < high - low < 0.7


def test_more_databases_narrow_it() -> None:
    widths = [find_width([[1.0, 0.0, 1.0, 1.0]] * count) for count in (2, 4, 8, 16, 200)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.09


@settings(max_examples=60, deadline=None)
@given(CLUSTERS)
def test_it_holds_the_mean_and_is_the_same_each_time(clusters: list[list[float]]) -> None:
    scores = [score for cluster in clusters for score in cluster]
    low, high = mean_interval(clusters)
    assert 0 <= low <= math.fsum(scores) / len(scores) <= high <= 1
    assert low < high
    assert mean_interval(clusters) == (low, high)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=20), min_size=2, max_size=8))
def test_wrong_answers_are_the_mirror_of_right_ones(clusters: list[list[bool]]) -> None:
    low, high = mean_interval(clusters)
    mirrored = mean_interval([[not right for right in cluster] for cluster in clusters])
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-6)


@pytest.mark.parametrize("clusters", [[], [[]], [[1.0], [1.5]], [[-0.1]], [[math.nan]]])
def test_what_has_no_interval_is_told(clusters: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="an interval needs scores"):
        mean_interval(clusters)


@pytest.mark.parametrize("correlation", [0.0, 0.2])
@pytest.mark.parametrize("databases", [3, 8])
def test_it_holds_as_often_as_it_says(databases: int, correlation: float) -> None:
    """A few hundred draws; benchmarks/intervals.py has thousands, and other kinds of them."""
    random, accuracy, draws = Random(7), 0.8, 250
    held = 0
    for _ in range(draws):
        clusters = []
        for _ in range(databases):
            share = accuracy
            if correlation:
                spread = 1 / correlation - 1
                share = random.betavariate(accuracy * spread, (1 - accuracy) * spread)
            size = random.randint(8, 45)
            clusters.append([float(random.random() < share) for _ in range(size)])
        low, high = mean_interval(clusters)
        held += low <= accuracy <= high
    assert held >= 0.92 * draws


def test_difference_of_equal_predictions_has_some_width_and_one_cluster_none_at_all() -> None:
    low, high = difference_interval([[0.0] * 10] * 5)
    assert -0.1 < low < 0 < high < 0.1
    assert difference_interval([[1.0] * 50]) == (-1, 1)


def test_difference_of_single_questions_is_that_of_student() -> None:
    values = [1.0] * 60 + [0.0] * 100 + [-1.0] * 40
    low, high = difference_interval([[value] for value in values])
    margin = 1.972 * math.sqrt((0.5 - 0.1**2) / 199)
    assert (low, high) == pytest.approx((0.1 - margin, 0.1 + margin), abs=0.002)
