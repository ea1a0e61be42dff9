"""Intervals and tests for shares of questions: bootstrap, pass@k, and a paired test of two runs."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

RESAMPLES = 2000
_SEED = 20


class Interval(NamedTuple):
    """The middle 95 % of resampled means, from 0 to 1."""

    low: float
    high: float


def bootstrap_mean(clusters: Sequence[Sequence[float]]) -> Interval | None:
    """The percentile interval of a mean (Efron 1979), whose clusters are drawn with replacement;
    None where there is only one.

    Values of one cluster, such as the questions of one database, are right and wrong together: an
    interval that draws them one by one would be too narrow.

    >>> bootstrap_mean([[1.0], [0.0], [1.0], [1.0]])
    Interval(low=0.25, high=1.0)
    """
    if len(clusters) < 2:
        return None
    sums = [(math.fsum(cluster), len(cluster)) for cluster in clusters]
    draw = random.Random(_SEED)
    means = []
    for _ in range(RESAMPLES):
        drawn = draw.choices(sums, k=len(sums))
        means.append(math.fsum(total for total, _ in drawn) / sum(count for _, count in drawn))
    means.sort()
    margin = round(RESAMPLES * 0.025)
    return Interval(means[margin], means[-margin - 1])


def pass_at_k(samples: int, right: int, k: int) -> float:
    """How likely one of k of the samples is right (Chen et al. 2021, the unbiased estimator).

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 2), pass_at_k(4, 3, 2)
    (0.25, 0.5, 1.0)
    """
    return 1 - math.comb(samples - right, k) / math.comb(samples, k)


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of the exact sign test; of rights and wrongs, McNemar's exact test.

    >>> sign_test(0, 0), sign_test(5, 0), sign_test(9, 1)
    (1.0, 0.0625, 0.021484375)
    """
    total = wins + losses
    tail = sum(math.comb(total, count) for count in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**total)
