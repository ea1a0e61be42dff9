"""The cover: few databases that tell what many do."""

from __future__ import annotations

from answerkey.suites.cover import choose_databases, choose_suite


def test_cover_takes_few_databases_and_fills_up_to_three():
    kills = {number: frozenset({number}) for number in range(9)}
    assert choose_databases([kills], most=4) == [0, 1, 2, 3]
    assert choose_suite(kills, [0, 1, 2, 3, 4, 5], most=5) == [0, 1, 2, 3, 4]
    same = {number: frozenset({7}) for number in range(9)}
    assert choose_suite(same, range(9), most=5) == [0, 1, 2]
    assert choose_suite(same, range(9), most=2) == [0, 1]
    assert choose_suite({3: frozenset()}, [3], most=5) == [3]


def test_cover_tells_what_is_heavy_first_and_spares_what_may_live():
    kills = {1: frozenset({0, 1, 2}), 2: frozenset({9})}
    assert choose_databases([kills], most=1) == [1]
    assert choose_databases([kills], most=1, heavy={(0, 9): 10}) == [2]
    assert choose_databases([kills], most=8, spare=1) == [1]
    assert choose_databases([kills], most=8, spare=4, heavy={(0, 9): 10}) == [2]
    assert choose_databases([kills], most=8, spare=4, heavy={(0, 9): 1}) == [1, 2]


def test_choice_that_is_not_the_best_step_by_step_is_exchanged():
    kills = {1: frozenset({0, 1, 2, 3}), 2: frozenset({0, 1, 4}), 3: frozenset({2, 3, 5})}
    assert sorted(choose_databases([kills], most=2)) == [2, 3]
    heavy = {(0, 3): 10, (0, 0): 10}
    assert sorted(choose_databases([kills], most=1, heavy=heavy)) == [1]
