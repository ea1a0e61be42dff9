"""Shares of questions with their intervals, pass@k, the pairs of systems that differ beyond chance,
and the ranks that follow from them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple, TypedDict

from answerkey.base.records import HARDNESS_LEVELS
from answerkey.dataset import Question
from answerkey.evaluation.intervals import Interval, difference_interval, mean_interval
from answerkey.evaluation.scoring import Score

LEVEL = 0.05  # the probability that a comparison of equal systems calls any pair different


def pass_at_k(samples: int, right: int, k: int) -> float:
    """Return the probability that one of k samples is right (Chen et al. 2021, unbiased estimator).

    >>> pass_at_k(4, 1, 1), pass_at_k(4, 1, 2), pass_at_k(4, 3, 2)
    (0.25, 0.5, 1.0)
    """
    return 1 - math.comb(samples - right, k) / math.comb(samples, k)


def find_chance(differences: Iterable[int]) -> float:
    """Return the probability that chance alone gives a sum at least this far from 0, if each
    difference has either sign with equal probability: the exact sign-flip test (Fisher 1935). If
    all differences are 1, -1 or 0, it is McNemar's test.

    >>> find_chance([1, 1, 1, 1, 1, -1]), find_chance([2, 2, 2, -2]), find_chance([0])
    (0.21875, 0.625, 1.0)
    """
    sizes = [abs(difference) for difference in differences if difference]
    ways = [1]  # how many choices of signs leave each sum below 0
    for size in sizes:
        room = [0] * size
        ways = [kept + turned for kept, turned in zip(ways + room, room + ways, strict=True)]
    less = (sum(sizes) - abs(sum(differences))) // 2
    return min(1.0, sum(ways[: less + 1]) / (1 << len(sizes)) * 2)


def correct_for_many(chances: Sequence[float]) -> list[float]:
    """Return the probabilities corrected for the number of tests (Holm 1979): if those below LEVEL
    are called different, the probability of any wrong call is at most LEVEL.

    >>> correct_for_many([0.01, 0.6, 0.02])
    [0.03, 0.6, 0.04]
    """
    corrected = [0.0] * len(chances)
    highest = 0.0
    ranked = sorted(range(len(chances)), key=lambda test_index: chances[test_index])
    for before, test_index in enumerate(ranked):
        highest = max(highest, min(1.0, (len(chances) - before) * chances[test_index]))
        corrected[test_index] = highest
    return corrected


# The numbers of an evaluation: accuracy on the database and on the suite, for all questions and for
# groups of them, pass@k, majority, errors, and the ranks of several systems.


def _list_known(value: str | None) -> list[str]:
    return [] if value is None else [value]


BREAKDOWNS: dict[str, Callable[[Question], list[str]]] = {
    "split": lambda question: [question.split],
    "difficulty": lambda question: _list_known(question.difficulty),
    "hardness": lambda question: _list_known(question.hardness),
    "answer type": lambda question: _list_known(question.answer_type),
    "feature": lambda question: question.features or [],  # an export does not have them
    "database": lambda question: [question.database_name],
}


class QuestionResult(NamedTuple):
    """A question and the scores of its samples, in order; none if it has no prediction.

    on_database, on_suite: the share of right samples, 0.0 without samples.
    """

    question: Question
    scores: list[Score]
    on_database: float
    on_suite: float


def collect_results(questions: Iterable[Question], scores: Iterable[Score]) -> list[QuestionResult]:
    samples: defaultdict[str, list[Score]] = defaultdict(list)
    for score in scores:
        samples[score.question_id].append(score)
    results = []
    for question in questions:
        own = samples[question.question_id]
        rights = [(score.on_database, score.on_suite) for score in own] or [(False, False)]
        shares = (sum(column) / len(rights) for column in zip(*rights, strict=True))
        results.append(QuestionResult(question, own, *shares))
    return results


class Accuracy(TypedDict):
    """The share of `count` questions that is right on the database, and on the suite as well."""

    count: int
    database: float
    database_interval: Interval
    suite: float
    suite_interval: Interval


class OnSamples(TypedDict):
    """The results of several samples per question, on the database and on the suite.

    fewest: the number of samples that each question has at least.
    pass_at_k: by the text of k, for powers of two.
    majority: the accuracy of the answer that most samples give.
    """

    fewest: int
    pass_at_k: dict[str, dict[str, float]]
    majority: dict[str, float]


class Summary(TypedDict):
    """All numbers of an evaluation. Shares are from 0 to 1, an interval is [low, high].

    samples: None if each question has a single sample.
    errors: how many samples have each reason; `on_suite_only` for those right on the real database.
    without_prediction: the questions without a prediction, which count as wrong.
    """

    accuracy: Accuracy
    samples: OnSamples | None
    errors: dict[str, dict[str, int]]
    without_prediction: list[str]


class Standing(TypedDict):
    """A system among others.

    rank: from 1; equal systems share one.
    ranks: the best and the worst rank that the pairs allow: behind all systems that are better
        beyond chance, and ahead of all that are worse. All are right together with 95 %, since the
        pairs are.
    """

    name: str
    rank: int
    ranks: tuple[int, int]


class Pair(TypedDict):
    """Two systems: the difference in accuracy with its interval, and for how many questions each
    has the larger share of right samples.

    sums: the input of the test. The questions of one gold SQL are one case, since they are right or
        wrong together. The sum of a case is the number of its questions on which the first is
        better, minus the others. It says how many cases have each sum but 0, by its text, from the
        highest.
    chance: the probability of such sums for equal systems (`find_chance`), corrected for all pairs.
    differs: whether that is below LEVEL, and the interval above 0, both for the same system. The
        first is about other questions on the same databases, the second about other databases.
    """

    system: str
    other: str
    difference: float
    interval: Interval
    better: int
    worse: int
    sums: dict[str, int]
    chance: float
    differs: bool


def summarize(results: list[QuestionResult]) -> Summary:
    """Return all numbers, as JSON values."""
    return {
        "accuracy": _measure(results),
        "samples": _measure_samples(results),
        "errors": _count_errors(results),
        "without_prediction": [
            result.question.question_id for result in results if not result.scores
        ],
    }


def break_down(results: list[QuestionResult]) -> dict[str, dict[str, Accuracy]]:
    """Return the same accuracy by the values of BREAKDOWNS; hardness in the order of its levels."""
    broken = {}
    for breakdown, list_values in BREAKDOWNS.items():
        groups: defaultdict[str, list[QuestionResult]] = defaultdict(list)
        for result in results:
            for value in list_values(result.question):
                groups[value].append(result)
        names = [name for name in HARDNESS_LEVELS if name in groups]
        names += sorted(groups.keys() - set(names))
        broken[breakdown] = {name: _measure(groups[name]) for name in names}
    return broken


def rank_systems(
    systems: Mapping[str, list[QuestionResult]], on: str
) -> tuple[list[Standing], list[Pair]]:
    """Return the systems, the best first, and each pair of them.

    on: `suite` or `database`.

    Ranks follow from the pairs, so a rank is certain only if pairs differ. The clusters for the
    interval of a difference are databases; with one database, the questions of one gold SQL.
    """
    accuracies = {
        name: [getattr(result, f"on_{on}") for result in results]
        for name, results in systems.items()
    }
    means = {name: fmean(values) for name, values in accuracies.items()}
    names = sorted(means, key=lambda name: -means[name])
    results = next(iter(systems.values()))
    cases = [_name_case(result.question) for result in results]
    compared = list(combinations(names, 2))
    signs = [
        [
            (own > others) - (own < others)
            for own, others in zip(accuracies[first], accuracies[second], strict=True)
        ]
        for first, second in compared
    ]
    sums = [_group(of_pair, cases) for of_pair in signs]
    chances = correct_for_many([find_chance(of_pair) for of_pair in sums])
    pairs: list[Pair] = []
    for (first, second), of_pair, of_cases, chance in zip(
        compared, signs, sums, chances, strict=True
    ):
        differences = [a - b for a, b in zip(accuracies[first], accuracies[second], strict=True)]
        low, high = difference_interval(_cluster(results, differences))
        counts = Counter(of_cases)
        pairs.append(
            {
                "system": first,
                "other": second,
                "difference": means[first] - means[second],
                "interval": (low, high),
                "better": of_pair.count(1),
                "worse": of_pair.count(-1),
                "sums": {str(value): counts[value] for value in sorted(counts)[::-1] if value},
                "chance": chance,
                "differs": chance < LEVEL and low > 0 and sum(of_cases) > 0,
            }
        )
    ahead = Counter(pair["system"] for pair in pairs if pair["differs"])
    behind = Counter(pair["other"] for pair in pairs if pair["differs"])
    standings: list[Standing] = [
        {
            "name": name,
            "rank": 1 + sum(other > means[name] for other in means.values()),
            "ranks": (1 + behind[name], len(names) - ahead[name]),
        }
        for name in names
    ]
    return standings, pairs


def _name_case(question: Question) -> Hashable:
    """Return the same value for two questions if one query answers both: paraphrases."""
    return question.database_name, question.gold_sql or question.question_id


def _group(signs: Iterable[int], cases: Iterable[Hashable]) -> list[int]:
    sums: Counter[Hashable] = Counter()
    for sign, case in zip(signs, cases, strict=True):
        sums[case] += sign
    return list(sums.values())


def _measure(results: list[QuestionResult]) -> Accuracy:
    on_database = [result.on_database for result in results]
    on_suite = [result.on_suite for result in results]
    return {
        "count": len(results),
        "database": fmean(on_database),
        "database_interval": mean_interval(_cluster(results, on_database)),
        "suite": fmean(on_suite),
        "suite_interval": mean_interval(_cluster(results, on_suite)),
    }


def _cluster(results: list[QuestionResult], values: Iterable[float]) -> list[list[float]]:
    """Return the values by database; by case, if there is only one database."""
    by_database: defaultdict[Hashable, list[float]] = defaultdict(list)
    by_case: defaultdict[Hashable, list[float]] = defaultdict(list)
    for result, value in zip(results, values, strict=True):
        by_database[result.question.database_name].append(value)
        by_case[_name_case(result.question)].append(value)
    return list((by_database if len(by_database) > 1 else by_case).values())


def _measure_samples(results: list[QuestionResult]) -> OnSamples | None:
    counts = [len(result.scores) for result in results]
    fewest = min(counts)
    if max(counts) < 2 or not fewest:
        return None
    chosen = [choose_majority(result.scores) for result in results]
    passes, majority = {}, {}
    for side in ("database", "suite"):
        rights = [
            sum(getattr(score, f"on_{side}") for score in result.scores) for result in results
        ]
        pairs = list(zip(counts, rights, strict=True))
        passes[side] = {
            str(k): fmean(pass_at_k(count, right, k) for count, right in pairs)
            for k in (2**power for power in range(fewest.bit_length()))
        }
        majority[side] = fmean(getattr(score, f"on_{side}") for score in chosen)
    return {"fewest": fewest, "pass_at_k": passes, "majority": majority}


def choose_majority(scores: list[Score]) -> Score:
    """Return the first of the samples whose rows most samples have. A sample without rows has no
    vote, unless no sample has rows."""
    voters = [score for score in scores if score.on_database or score.answer is not None] or scores
    votes = Counter(score.on_database or score.answer for score in voters)
    most = max(votes.values())
    return next(score for score in voters if votes[score.on_database or score.answer] == most)


def _count_errors(results: list[QuestionResult]) -> dict[str, dict[str, int]]:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for score in result.scores:
            if score.reason is not None:
                counts[score.reason]["count"] += 1
                counts[score.reason]["on_suite_only"] += score.on_database
    ranked = sorted(counts.items(), key=lambda item: (-item[1]["count"], item[0]))
    return {reason: dict(count) for reason, count in ranked}
