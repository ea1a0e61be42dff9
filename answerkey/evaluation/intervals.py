"""95 % intervals for questions that come in clusters: of an accuracy, by a Bayesian beta-binomial
model, and of the difference of two accuracies, by Student's t on the jackknife."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

Interval = tuple[float, float]

_LEFT_OUT = 0.025  # probability beyond either end of an interval

# The axes of the grid are angles: accuracy and correlation are both sin(angle) ** 2.
_QUARTER = math.pi / 2
_COARSE, _FINE = 14, 30  # cells per axis while the grid closes in, and at the end
_NEGLIGIBLE = 14.0  # a cell is ignored if its logarithm is this far below the highest one
_ZOOMS = 5  # at most: enough for a million questions
_POWER = 0.2  # of sin(angle): the density of the correlation's prior Beta(0.6, 0.5) in angles


class _Counts(NamedTuple):
    """How many clusters there are of each number of right answers, of wrong answers, and each
    size."""

    rights: Mapping[float, int]
    wrongs: Mapping[float, int]
    sizes: Mapping[float, int]


class _Axis(NamedTuple):
    low: float
    high: float

    def list_middles(self, cells: int) -> list[float]:
        step = (self.high - self.low) / cells
        return [self.low + (cell + 0.5) * step for cell in range(cells)]

    def zoom(self, kept: Sequence[bool]) -> _Axis:
        """Return the axis from the first to the last kept cell, with one more on either side."""
        step = (self.high - self.low) / len(kept)
        first, last = kept.index(True), len(kept) - 1 - kept[::-1].index(True)
        low = self.low + max(0, first - 1) * step
        return _Axis(low, self.low + min(len(kept), last + 2) * step)


def mean_interval(clusters: Sequence[Sequence[float]]) -> Interval:
    """Return the 95 % interval of the accuracy of which the clusters are a sample.

    clusters: the scores of the questions of each cluster, such as a database, from 0 to 1. A score
        between 0 and 1, such as the share of right samples, counts as that part of a right answer.

    The interval is about questions on other clusters that are drawn in the same way. With only one
    cluster it is about other questions of that cluster: each score is then a cluster of its own. It
    always contains the mean of the scores, and has some width even if all or none are right.

    The model is the beta-binomial: each cluster has an accuracy of its own, drawn from a beta
    distribution, and any two questions of a cluster have the same correlation, from 0 to 1 (Turner,
    Omar and Thompson 2001, Statistics in Medicine 20:453-472). Bowyer, Aitchison and Ivanova (2025,
    "Don't use the CLT in LLM evals with fewer than a few hundred datapoints", ICML) recommend it
    for clustered questions, since methods that rely on the central limit theorem promise too much
    with few clusters. The interval is the middle 95 % of the posterior distribution of the mean
    accuracy. Its prior is that of Jeffreys, Beta(1/2, 1/2); that of the correlation is
    Beta(0.6, 0.5); benchmarks/intervals.py has shown that its intervals hold. The posterior is
    summed on a grid that closes in on it, so chance is not involved.

    The model assumes that the size of a cluster does not depend on its accuracy.

    >>> low, high = mean_interval([[1, 1, 0, 1], [1, 0, 1], [0, 1, 1, 1, 1]])
    >>> f"{low:.2f} to {high:.2f}"
    '0.37 to 0.92'
    >>> low, high = mean_interval([[1] * 40, [1] * 30, [1] * 39])
    >>> f"{low:.2f} to {high:.2f}"
    '0.58 to 1.00'

    Raises:
        ValueError: there is no score, or one is not from 0 to 1.
    """
    filled = [list(cluster) for cluster in clusters if len(cluster)]
    scores = [score for cluster in filled for score in cluster]
    if not scores:
        raise ValueError("an interval needs scores: expected at least one, found none")
    if wrong := [score for score in scores if not 0 <= score <= 1]:
        raise ValueError(f"an interval needs scores from 0 to 1, found {wrong[0]}")
    if len(filled) == 1:
        filled = [[score] for score in scores]
    low, high = _find_middle(_count(filled))
    mean = math.fsum(scores) / len(scores)
    return min(low, mean), max(high, mean)


def _count(clusters: Sequence[Sequence[float]]) -> _Counts:
    sums = [(math.fsum(cluster), len(cluster)) for cluster in clusters]
    return _Counts(
        Counter(right for right, _ in sums if right),
        Counter(size - right for right, size in sums if right < size),
        Counter(float(size) for _, size in sums),
    )


def _find_middle(counts: _Counts) -> Interval:
    """Return the interval that leaves `_LEFT_OUT` of the posterior on either side of it."""
    accuracies = correlations = _Axis(0.0, _QUARTER)
    for _ in range(_ZOOMS):
        rows = _compute_logarithms(counts, accuracies, correlations, _COARSE)
        floor = max(map(max, rows)) - _NEGLIGIBLE
        before = accuracies, correlations
        accuracies = accuracies.zoom([max(row) > floor for row in rows])
        correlations = correlations.zoom(
            [max(column) > floor for column in zip(*rows, strict=True)]
        )
        if before == (accuracies, correlations):
            break
    rows = _compute_logarithms(counts, accuracies, correlations, _FINE)
    highest = max(map(max, rows))
    sums = [0.0, *accumulate(sum([math.exp(value - highest) for value in row]) for row in rows)]
    step = (accuracies.high - accuracies.low) / _FINE
    low, high = (
        math.sin(accuracies.low + step * _find_cells(sums, share * sums[-1])) ** 2
        for share in (_LEFT_OUT, 1 - _LEFT_OUT)
    )
    return low, high


def _find_cells(sums: Sequence[float], wanted: float) -> float:
    """Return how many cells hold the wanted sum; the last one may count in part."""
    cell_index = next(cell_index for cell_index, above in enumerate(sums) if above >= wanted)
    below = sums[cell_index - 1]
    return cell_index - 1 + (wanted - below) / (sums[cell_index] - below)


def _compute_logarithms(
    counts: _Counts, accuracies: _Axis, correlations: _Axis, cells: int
) -> list[list[float]]:
    """Return the logarithm of the posterior at each accuracy (a row) and correlation, up to a
    constant.

    In these angles the prior of the accuracy is constant.
    """
    spreads = []  # the sum of both parameters of the beta distribution, and its own terms
    for angle in correlations.list_middles(cells):
        spread = 1 / math.tan(angle) ** 2  # 1 / correlation - 1
        prior = _POWER * math.log(math.sin(angle))
        spreads.append((spread, prior - _rise(spread, counts.sizes)))
    rows = []
    for angle in accuracies.list_middles(cells):
        right, wrong = math.sin(angle) ** 2, math.cos(angle) ** 2
        rows.append(
            [
                known + _rise(right * spread, counts.rights) + _rise(wrong * spread, counts.wrongs)
                for spread, known in spreads
            ]
        )
    return rows


def _rise(start: float, counts: Mapping[float, int]) -> float:
    """Return the logarithm of the rising factorials of `start`, each as often as it is counted.

    >>> round(math.exp(_rise(3.0, {2.0: 1})), 9)  # 3 * 4
    12.0
    """
    log_gamma = math.lgamma
    total = sum([count * log_gamma(start + terms) for terms, count in counts.items()])
    return total - sum(counts.values()) * log_gamma(start)


def difference_interval(clusters: Sequence[Sequence[float]]) -> Interval:
    """Return the 95 % interval of the mean of differences, from -1 to 1, whose clusters are drawn
    in the same way.

    clusters: for the questions of each cluster, the score of one system minus that of another.

    The standard error is that of the jackknife, which leaves out one cluster after the other, with
    Student's t for one degree of freedom less than there are clusters. It is at least that of
    independent questions, with one more on which the systems differ, so that the interval of equal
    predictions has some width, too. With one cluster the interval is (-1, 1).

    >>> low, high = difference_interval([[1, 0, 1], [0, 0, 1], [1, 0, 0], [0, 1, 1, 0]])
    >>> f"{low:.2f} to {high:.2f}"
    '-0.04 to 0.97'
    """
    sums = [(math.fsum(cluster), len(cluster)) for cluster in clusters]
    total, size = math.fsum(own for own, _ in sums), sum(count for _, count in sums)
    if len(sums) < 2:
        return -1.0, 1.0
    mean = total / size
    without = [(total - own) / (size - count) for own, count in sums]
    center = math.fsum(without) / len(without)
    jackknife = (
        math.fsum((estimate - center) ** 2 for estimate in without) * (len(sums) - 1) / len(sums)
    )
    squares = math.fsum(value * value for cluster in clusters for value in cluster)
    alone = ((squares + 1) / size - mean**2) / size
    margin = _find_student(len(sums) - 1) * math.sqrt(max(jackknife, alone))
    return max(-1.0, mean - margin), min(1.0, mean + margin)


@lru_cache
def _find_student(freedom: int) -> float:
    """Return the value that Student's t exceeds with 2.5 %, by the finite series of its
    distribution (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4).

    >>> [round(_find_student(freedom), 3) for freedom in (1, 2, 5, 30)]
    [12.706, 4.303, 2.571, 2.042]
    """

    def share_within(angle: float) -> float:
        cosine = math.cos(angle)
        term = total = 1.0 if freedom % 2 == 0 else cosine
        for factor in range(2 + freedom % 2, freedom - 1, 2):
            term *= cosine**2 * (factor - 1) / factor
            total += term
        if freedom % 2 == 0:
            return math.sin(angle) * total
        return (angle + math.sin(angle) * total * (freedom > 1)) * 2 / math.pi

    low, high = 0.0, _QUARTER
    for _ in range(60):
        middle = (low + high) / 2
        is_below = share_within(middle) < 1 - 2 * _LEFT_OUT
        low, high = (middle, high) if is_below else (low, middle)
    return math.tan(low) * math.sqrt(freedom)
