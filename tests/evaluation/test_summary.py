"""Intervals and tests against values known by other means."""

import math

import pytest

from answerkey.dataset import Question
from answerkey.evaluation.summary import Result, bootstrap_mean, pass_at_k, rank_systems


def test_interval_of_many_questions_is_that_of_the_normal_distribution() -> None:
    low, high = bootstrap_mean([[1.0]] * 300 + [[0.0]] * 700)
    margin = 1.96 * math.sqrt(0.3 * 0.7 / 1000)
    assert low == pytest.approx(0.3 - margin, abs=0.004)
    assert high == pytest.approx(0.3 + margin, abs=0.004)


def test_clusters_that_are_right_together_widen_it() -> None:
    alone = bootstrap_mean([[float(place < 50)] for place in range(100)])
    together = bootstrap_mean([[float(place < 5)] * 10 for place in range(10)])
    assert together[1] - together[0] > 2 * (alone[1] - alone[0])


def test_values_of_one_cluster_are_drawn_one_by_one() -> None:
    assert bootstrap_mean([[1.0, 0.0]]) == (0, 1)


@pytest.mark.parametrize(("right", "k", "share"), [(0, 1, 0), (2, 1, 0.2), (10, 5, 1), (1, 10, 1)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(right, k, share) -> None:
    assert pass_at_k(10, right, k) == pytest.approx(share)


def make_results(rights: dict[str, list[int]]) -> list[Result]:
    """Results by database: whether each of its questions is right on the suite."""
    question = Question("", "", "eval", "", "", {}, [])
    return [
        Result(question._replace(database_name=name), [], 1.0, float(right))
        for name, of_database in rights.items()
        for right in of_database
    ]


def test_systems_that_differ_on_all_databases_have_sure_ranks() -> None:
    systems = {
        "weak": make_results({name: [0, 0, 1] for name in "abcdefgh"}),
        "strong": make_results({name: [1, 1, 1] for name in "abcdefgh"}),
    }
    standings, (pair,) = rank_systems(systems, "suite")
    assert [tuple(one.values()) for one in standings] == [
        ("strong", 1, (1, 1)),
        ("weak", 2, (2, 2)),
    ]
    assert (pair["system"], pair["other"], pair["better"], pair["worse"]) == (
        "strong",
        "weak",
        16,
        0,
    )
    assert pair["difference"] == pytest.approx(2 / 3)
    assert pair["interval"] == pytest.approx((2 / 3, 2 / 3))


def test_paraphrases_of_one_database_are_no_proof() -> None:
    """Twelve questions are better and none is worse: a sign test would be sure of it."""
    same = {name: [1, 0] for name in "bcdefgh"}
    systems = {
        "one": make_results({"a": [1] * 12, **same}),
        "other": make_results({"a": [0] * 12, **same}),
    }
    standings, (pair,) = rank_systems(systems, "suite")
    assert (pair["better"], pair["worse"], pair["interval"][0]) == (12, 0, 0)
    assert standings[1]["ranks"] == (1, 2)


def test_equal_systems_share_a_rank_and_one_database_is_drawn_by_question() -> None:
    systems = {name: make_results({"a": [1, 0, 1]}) for name in ("x", "y")}
    standings, (pair,) = rank_systems(systems, "suite")
    assert [one["rank"] for one in standings] == [1, 1]
    assert pair["interval"] == (0, 0)
