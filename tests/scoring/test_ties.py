"""Right choices where LIMIT cuts through rows that tie."""

import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.scoring.comparison import rows_match
from answerkey.scoring.rules import RULES, read_rule

VALUES = st.sampled_from(["a", "b", 1, 1.5, None])


@st.composite
def choices(draw):
    """Segments of rows, and rows that often are a choice of them."""
    width = draw(st.integers(1, 2))
    row = st.tuples(*[VALUES] * width)
    segments = draw(st.lists(st.lists(row, min_size=1, max_size=3), min_size=1, max_size=3))
    accepted = [
        {"rows": [list(row) for row in rows], "take": draw(st.integers(0, len(rows)))}
        for rows in segments
    ]
    rows = [row for part in list_answers(accepted)[0] for row in part]
    if draw(st.booleans()):
        rows = draw(st.permutations(rows))
    if rows and draw(st.integers(0, 2)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))] = draw(row)
    order = draw(st.permutations(range(width))) if draw(st.booleans()) else range(width)
    return accepted, [tuple(row[n] for n in order) for row in rows]


def list_answers(accepted):
    """All right answers, each as the rows of its segments."""
    parts = [
        list(itertools.combinations([tuple(row) for row in part["rows"]], part["take"]))
        for part in accepted
    ]
    return list(itertools.product(*parts))


def is_answer(answer, rows, rule, ordered):
    everything = [row for part in answer for row in part]
    if rule.rows == "subset":
        return set(rows) <= set(everything) and bool(rows) is bool(everything)
    if rule.rows == "set":
        return set(rows) == set(everything)
    if not ordered:
        return Counter(rows) == Counter(everything)
    if len(rows) != len(everything):
        return False
    start = 0
    for part in answer:
        if Counter(rows[start : start + len(part)]) != Counter(part):
            return False
        start += len(part)
    return True


@settings(max_examples=400)
@given(choices(), st.sampled_from(list(RULES)), st.booleans())
def test_each_right_choice_is_accepted_and_no_other(drawn, name, order_matters):
    accepted, rows = drawn
    rule = RULES.get(name) or read_rule(name)
    width = len(accepted[0]["rows"][0])
    orders = itertools.permutations(range(width)) if rule.columns != "same" else [range(width)]
    expected = any(
        is_answer(answer, side, rule, rule.has_order(order_matters))
        for side in [[tuple(row[n] for n in order) for row in rows] for order in orders]
        for answer in list_answers(accepted)
    )
    assert choose(rows, accepted, name, order_matters) is expected


def choose(rows, accepted, rule="strict", order_matters=False):
    options = {"rule": RULES.get(rule) or read_rule(rule), "order_matters": order_matters}
    return rows_match(rows, [], accepted_rows=accepted, **options)


@pytest.mark.parametrize(
    ("rows", "segments", "is_right"),
    [
        # OFFSET and LIMIT each cut a run, and a row stands in both
        (["a", "b"], [(["a", "b"], 1), (["b", "c"], 1)], True),
        (["b", "b"], [(["a", "b"], 1), (["b", "c"], 1)], True),
        (["a", "a"], [(["a", "b"], 1), (["b", "c"], 1)], False),
        (["b", "a"], [(["a", "b"], 1), (["b", "c"], 1)], True),
        (["a", "b", "c"], [(["a", "b", "c"], 2), (["a"], 1)], True),
        (["b", "c", "b"], [(["a", "b", "c"], 2), (["a", "b"], 1)], True),
        (["b", "b", "b"], [(["a", "b", "b"], 2), (["b"], 1)], True),
        (["c", "c"], [(["c", "a"], 2)], False),
        # floats within the tolerance: the one that is nearest is not always the one to take
        ([1.0, 1.0000005], [([1.0000009, 1.0], 2)], True),
        ([1.0, 1.0000005], [([1.0000014, 1.0, 5.0], 2)], True),
        ([1.0000005, 1.0], [([1.0000014, 1.0], 1), ([1.0, 2.0], 1)], True),
        ([1.0, 1.0], [([1.0000014, 1.0], 1), ([2.0, 3.0], 1)], False),
        ([1.0000007, 1.0000022, 1.0000008], [([1.0, 1.0000015, 1.000003, 5.0], 3)], True),
    ],
)
def test_choices_of_one_column(rows, segments, is_right):
    accepted = [{"rows": [[value] for value in values], "take": n} for values, n in segments]
    assert choose([(value,) for value in rows], accepted) is is_right


@pytest.mark.parametrize("rule", ["bird", "set"])
def test_set_has_all_different_rows_of_a_choice(rule):
    for rows, is_right in (("ab", True), ("ac", True), ("a", False), ("abc", False)):
        accepted = [{"rows": [["a"], ["b"], ["c"]], "take": 2}]
        assert choose([(value,) for value in rows], accepted, rule) is is_right
    assert choose([("a",)], [{"rows": [["a"], ["a"], ["b"]], "take": 2}], rule)


def test_order_counts_between_segments_only():
    accepted = [{"rows": [["a"], ["b"]], "take": 2}, {"rows": [["c"], ["d"]], "take": 1}]
    assert choose([("b",), ("a",), ("d",)], accepted, order_matters=True)
    assert not choose([("b",), ("d",), ("a",)], accepted, order_matters=True)
    assert choose([("b",), ("d",), ("a",)], accepted)


def test_segment_of_which_nothing_is_taken_changes_nothing():
    accepted = [{"rows": [["a", 1], ["b", 2]], "take": 1}, {"rows": [["c", 3]], "take": 0}]
    assert choose([(2, "b")], accepted, "spider", order_matters=True)
    assert not choose([(3, "c")], accepted, "spider", order_matters=True)


def test_choice_among_many_rows_is_found():
    rows = [(f"row {n}", n / 7) for n in range(5000)]
    accepted = [{"rows": [list(row) for row in rows], "take": 2500}]
    assert choose(rows[::2], accepted)
    assert choose([(b, a) for a, b in rows[::2]], accepted, "spider")
    assert not choose([*rows[:2499], rows[0]], accepted)


def test_choice_among_rows_that_are_all_close_is_found():
    accepted = [{"rows": [[1 + n * 1e-10] for n in range(600)], "take": 300}]
    rows = [(1 + n * 1e-10,) for n in range(0, 600, 2)]
    assert choose(rows, accepted)
    assert not choose([*rows[1:], (1.1,)], accepted)
