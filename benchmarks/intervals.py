"""Measure how often the intervals of `answerkey evaluate` hold, and their width.

    python benchmarks/intervals.py                 # the tables of benchmarks/README.md
    python benchmarks/intervals.py --draws 100     # a quick look

Each draw is an evaluation: some databases of 8 to 45 questions, an accuracy of each that is drawn
around the true one, and questions that are right or wrong. An interval holds if it contains the
true accuracy. `was` is the former method: databases drawn with replacement 2,000 times, and the
middle 95 % of the means. The seed is fixed.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from random import Random
from statistics import fmean
from typing import NamedTuple

from answerkey.evaluation.intervals import Interval, mean_interval

SEED = 41
DATABASES = (3, 5, 10, 20)
ACCURACIES, CORRELATIONS = (0.5, 0.7, 0.9), (0.0, 0.1, 0.2)
LEAST, MOST = 8, 45  # questions of a database
RESAMPLES, MOST_RESAMPLED = 2000, 300  # draws for the former method

Clusters = list[list[float]]


class Cell(NamedTuple):
    """The parameters of a draw: the distribution of accuracies of databases, and their mean."""

    kind: str
    databases: int
    accuracy: float
    correlation: float


class Measured(NamedTuple):
    """How often intervals hold, and their mean width; the same for the former method, on fewer
    draws; and the width of ours on these, divided by the former width."""

    holds: float
    width: float
    held_before: float
    width_before: float
    ratio: float


# The accuracy of a database is drawn so that two of its questions have the correlation.


def draw_beta(cell: Cell, random: Random) -> float:
    spread = 1 / cell.correlation - 1
    return random.betavariate(cell.accuracy * spread, (1 - cell.accuracy) * spread)


def draw_of_two(cell: Cell, random: Random) -> float:
    """Return one of two accuracies with equal probability. If the higher one would be above 1,
    return 1 or another one, with unequal probabilities."""
    variance = cell.correlation * cell.accuracy * (1 - cell.accuracy)
    deviation = math.sqrt(variance)
    if cell.accuracy + deviation <= 1:
        return cell.accuracy + random.choice((-1, 1)) * deviation
    wrong = 1 - cell.accuracy
    share = wrong**2 / (wrong**2 + variance)
    return 1 - wrong / share if random.random() < share else 1.0


# Center and deviation of the logit, by accuracy and correlation, from numeric integration.
_LOGITS = {
    (0.5, 0.1): (0.0, 0.7007),
    (0.5, 0.2): (0.0, 1.1065),
    (0.7, 0.1): (0.9502, 0.7537),
    (0.7, 0.2): (1.075, 1.1792),
    (0.9, 0.1): (2.5945, 1.0442),
    (0.9, 0.2): (3.0025, 1.5568),
}


def draw_logit_normal(cell: Cell, random: Random) -> float:
    center, deviation = _LOGITS[cell.accuracy, cell.correlation]
    return 1 / (1 + math.exp(-random.gauss(center, deviation)))


KINDS: dict[str, Callable[[Cell, Random], float]] = {
    "beta": draw_beta,
    "two accuracies": draw_of_two,
    "logit-normal": draw_logit_normal,
}


def draw_clusters(cell: Cell, random: Random) -> Clusters:
    clusters = []
    for _ in range(cell.databases):
        accuracy = cell.accuracy
        if cell.correlation:
            accuracy = KINDS[cell.kind](cell, random)
        size = random.randint(LEAST, MOST)
        clusters.append([float(random.random() < accuracy) for _ in range(size)])
    return clusters


def resample(clusters: Clusters, random: Random) -> Interval:
    """Return the interval of the former method."""
    sums = [(math.fsum(cluster), len(cluster)) for cluster in clusters]
    means = []
    for _ in range(RESAMPLES):
        rights, sizes = zip(*random.choices(sums, k=len(sums)), strict=True)
        means.append(sum(rights) / sum(sizes))
    means.sort()
    margin = round(RESAMPLES * 0.025)
    return means[margin], means[-margin - 1]


def measure(cell: Cell, draws: int) -> Measured:
    random = Random(f"{SEED} {cell}")
    ours, before = [], []
    for number in range(draws):
        clusters = draw_clusters(cell, random)
        ours.append(mean_interval(clusters))
        if number < MOST_RESAMPLED:
            before.append(resample(clusters, random))
    width, width_before = map(find_width, (ours, before))
    compared = find_width(ours[:MOST_RESAMPLED])
    return Measured(
        count_holding(ours, cell.accuracy),
        width,
        count_holding(before, cell.accuracy),
        width_before,
        compared / width_before if width_before else math.inf,
    )


def find_width(intervals: list[Interval]) -> float:
    return fmean(high - low for low, high in intervals)


def count_holding(intervals: list[Interval], accuracy: float) -> float:
    return fmean(low <= accuracy <= high for low, high in intervals)


def list_cells() -> list[Cell]:
    cells = [Cell("beta", *of_cell) for of_cell in product(DATABASES, ACCURACIES, CORRELATIONS)]
    cells += [Cell("beta", count, share, 0.0) for count in DATABASES for share in (0.0, 1.0)]
    return cells + [
        Cell(kind, *of_cell)
        for kind in list(KINDS)[1:]
        for of_cell in product(DATABASES, ACCURACIES, CORRELATIONS[1:])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=2000, help="of each cell")
    parser.add_argument("--workers", type=int, help="processes (default: one a core)")
    arguments = parser.parse_args()
    print(
        "| accuracies | databases | accuracy | correlation | holds | width | was | width | ratio |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    cells = list_cells()
    with ProcessPoolExecutor(arguments.workers) as pool:
        all_measured = pool.map(measure, cells, [arguments.draws] * len(cells))
        for cell, measured in zip(cells, all_measured, strict=True):
            numbers = [f"{number:.3f}" for number in measured[:4]]
            ratio = f"{measured.ratio:.2f}" if measured.ratio < math.inf else ""
            print("| " + " | ".join([*map(str, cell), *numbers, ratio]) + " |", flush=True)


if __name__ == "__main__":
    main()
