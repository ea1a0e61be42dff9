"""Intervals and tests against values known by other means."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.dataset import Question
from answerkey.evaluation.summary import (
    LEVEL,
    QuestionResult,
    correct_for_many,
    find_chance,
    pass_at_k,
    rank_systems,
    summarize,
)


@pytest.mark.parametrize(("right", "k", "share"), [(0, 1, 0), (2, 1, 0.2), (10, 5, 1), (1, 10, 1)])
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(right, k, share) -> None:
    assert pass_at_k(10, right, k) == pytest.approx(share)


def make_results(rights: dict[str, list[int]]) -> list[QuestionResult]:
    """Results by database: whether each of its questions is right on the suite."""
    question = Question("", "", "eval", "", "", {}, [])
    return [
        QuestionResult(
            question._replace(database_name=name, gold_sql=f"SELECT {place}"),
            [],
            1.0,
            float(right),
        )
        for name, of_database in rights.items()
        for place, right in enumerate(of_database)
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
    assert pair["sums"] == {"1": 16}
    assert (pair["system"], pair["other"], pair["better"], pair["worse"]) == (
        "strong",
        "weak",
        16,
        0,
    )
    assert pair["difference"] == pytest.approx(2 / 3)
    assert 0 < pair["interval"][0] < 2 / 3 < pair["interval"][1] < 1


def test_paraphrases_of_one_database_are_no_proof() -> None:
    """Twelve questions are better and none is worse: a sign test would be sure of it."""
    same = {name: [1, 0] for name in "bcdefgh"}
    systems = {
        "one": make_results({"a": [1] * 12, **same}),
        "other": make_results({"a": [0] * 12, **same}),
    }
    standings, (pair,) = rank_systems(systems, "suite")
    assert (pair["better"], pair["worse"], pair["differs"]) == (12, 0, False)
    assert pair["interval"][0] < 0 < pair["interval"][1]
    assert [one["ranks"] for one in standings] == [(1, 2), (1, 2)]


def test_equal_systems_share_a_rank_and_their_difference_has_some_width() -> None:
    systems = {name: make_results({"a": [1, 0, 1]}) for name in ("x", "y")}
    standings, (pair,) = rank_systems(systems, "suite")
    assert [one["rank"] for one in standings] == [1, 1]
    low, high = pair["interval"]
    assert low == -high < 0
    assert pair["sums"] == {}


@settings(max_examples=40)
@given(st.lists(st.integers(-3, 3), max_size=7))
def test_chance_is_the_share_of_all_signs_that_give_as_much(differences: list[int]) -> None:
    sums = [
        sum(sign * difference for sign, difference in zip(signs, differences, strict=True))
        for signs in product((1, -1), repeat=len(differences))
    ]
    extreme = sum(abs(other) >= abs(sum(differences)) for other in sums)
    assert find_chance(differences) == pytest.approx(extreme / len(sums))


@pytest.mark.parametrize(("better", "worse"), [(7, 0), (40, 21), (5, 5), (300, 200)])
def test_chance_of_single_questions_is_that_of_mcnemar(better: int, worse: int) -> None:
    count = better + worse
    tail = sum(math.comb(count, fewer) for fewer in range(min(better, worse) + 1))
    expected = min(1, 2 * tail / 2**count)
    differences = [1] * better + [-1] * worse + [0] * 100
    assert find_chance(differences) == pytest.approx(expected)


@settings(max_examples=40)
@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_calls_different_what_its_steps_do(chances: list[float]) -> None:
    """The definition: from the least on, as long as each is below the level that is left to it."""
    called = set()
    for before, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[place] * (len(chances) - before) >= LEVEL:
            break
        called.add(place)
    corrected = correct_for_many(chances)
    assert {place for place, chance in enumerate(corrected) if chance < LEVEL} == called
    assert all(new >= old for new, old in zip(corrected, chances, strict=True))


def test_questions_of_one_gold_sql_are_one_cluster_in_one_database() -> None:
    def find_interval(number_of_queries: int) -> tuple[float, float]:
        rights = make_results({"a": [1, 0] * 20})
        for place, one in enumerate(rights):
            sql = f"SELECT {place % number_of_queries}"
            rights[place] = one._replace(question=one.question._replace(gold_sql=sql))
        low, high = summarize(rights)["accuracy"]["suite_interval"]
        return low, high

    few, many = find_interval(4), find_interval(40)
    assert few[1] - few[0] > 1.5 * (many[1] - many[0])


def rank_pair(better: dict[str, list[int]], *, sql: str | None = None) -> tuple[bool, float]:
    """Whether a system differs from one that is right nowhere, and the chance."""
    right = make_results(better)
    if sql is not None:
        right = [one._replace(question=one.question._replace(gold_sql=sql)) for one in right]
    wrong = [one._replace(on_suite=0.0) for one in right]
    _, (pair,) = rank_systems({"right": right, "wrong": wrong}, "suite")
    return pair["differs"], pair["chance"]


def test_pair_differs_where_the_test_and_the_interval_say_so() -> None:
    names = "abcdefgh"
    assert rank_pair({name: [1, 1] for name in names}) == (True, 2 / 2**16)
    assert rank_pair({"a": [1] * 16, **{name: [0] for name in "bcdefgh"}}) == (False, 2 / 2**16)
    assert rank_pair({name: [1] for name in "abcde"}) == (False, 2 / 2**5)


def test_questions_of_one_gold_sql_are_one_case() -> None:
    assert rank_pair({name: [1, 1] for name in "abcd"}, sql="SELECT 1") == (False, 2 / 2**4)


def test_sums_are_what_the_test_counts() -> None:
    """Three queries of two paraphrases each, one of them better, one worse, one both."""
    one = make_results({"a": [1, 1, 0, 0, 1, 0], "b": [1], "c": [0]})
    other = make_results({"a": [0, 0, 1, 1, 0, 1], "b": [0], "c": [0]})
    for results in (one, other):
        for place in range(6):
            own = results[place].question._replace(gold_sql=f"SELECT {place // 2}")
            results[place] = results[place]._replace(question=own)
    _, (pair,) = rank_systems({"one": one, "other": other}, "suite")
    assert (pair["sums"], pair["better"], pair["worse"]) == ({"2": 1, "1": 1, "-2": 1}, 4, 3)
    assert pair["chance"] == find_chance([2, 1, -2])


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_ranks_say_what_pairs_say(data: st.DataObject) -> None:
    """A system has a rank of its own only if it differs from each of the others."""
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=8))
    shares = data.draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=2, max_size=4))
    systems = {}
    for name, share in enumerate(shares):
        rights = {
            f"d{place}": [int(number % 3 < share) for number in range(size)]
            for place, size in enumerate(sizes)
        }
        systems[f"s{name}"] = make_results(rights)
    standings, pairs = rank_systems(systems, "suite")
    for one in standings:
        own = [pair for pair in pairs if one["name"] in (pair["system"], pair["other"])]
        low, high = one["ranks"]
        assert low <= one["rank"] <= high
        assert high - low == sum(not pair["differs"] for pair in own)
