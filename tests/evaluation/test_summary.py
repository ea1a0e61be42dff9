"""Intervals and tests against values known by other means."""

import math

import pytest

from answerkey.evaluation.summary import bootstrap_mean, pass_at_k, sign_test


def test_interval_of_many_questions_is_that_of_the_normal_distribution() -> None:
    low, high = bootstrap_mean([[1.0]] * 300 + [[0.0]] * 700)
    margin = 1.96 * math.sqrt(0.3 * 0.7 / 1000)
    assert low == pytest.approx(0.3 - margin, abs=0.004)
    assert high == pytest.approx(0.3 + margin, abs=0.004)


def test_clusters_that_are_right_together_widen_it() -> None:
    alone = bootstrap_mean([[float(place < 50)] for place in range(100)])
    together = bootstrap_mean([[float(place < 5)] * 10 for place in range(10)])
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_one_cluster_has_no_interval() -> None:
    assert bootstrap_mean([[1.0, 0.0]]) is None


@pytest.mark.parametrize(("right", "k", "share"), [(0, 1, 0), (2, 1, 0.2), (10, 5, 1), (1, 10, 1)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(right, k, share) -> None:
    assert pass_at_k(10, right, k) == pytest.approx(share)


def test_sign_test_is_symmetric_and_exact() -> None:
    assert sign_test(1, 9) == sign_test(9, 1) == 22 / 1024
    assert sign_test(3, 3) == 1
