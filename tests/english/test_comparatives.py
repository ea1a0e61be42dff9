"""Comparisons with the numbers of a question."""

import pytest

from answerkey.english.comparatives import find_comparatives
from answerkey.english.question import Question

COMPARED = [
    ("more than 3 but no more than 9", [("more than 3", True), ("no more than 9", False)]),
    ("from at least 5k up", [("at least 5k", False)]),
    ("older than 20", [("older than 20", True)]),
    ("above the age of 30", [("above the age of 30", True)]),
    ("5 or more", [("5 or more", False)]),
    ("less than or equal to 4", [("less than or equal to 4", False)]),
    ("since 2010", [("since 2010", False)]),
    ("between 2 and 5", [("between", False), ("between", False)]),
    ("between 2 and 5, exclusively", [("between", True), ("between", True)]),
    ("the 3rd over all, of room B12", []),  # no number that a column is compared with
    ("called 'over 5'", []),
]


@pytest.mark.parametrize(("text", "expected"), COMPARED)
def test_comparison_leaves_its_number_out_or_takes_it_in(text, expected):
    stated = find_comparatives(Question(text))
    assert [(comparative.text, comparative.is_strict) for comparative in stated] == expected


@pytest.mark.parametrize(
    ("text", "is_negated"),
    [("ships not above 5", True), ("no old ship, but over 5", False), ("over 5", False)],
)
def test_comparison_is_negated_in_its_own_clause(text, is_negated):
    assert [stated.is_negated for stated in find_comparatives(Question(text))] == [is_negated]


@pytest.mark.parametrize(
    ("text", "way"), [("at least 3", ">"), ("fewer than 3", "<"), ("older than 3", None)]
)
def test_word_of_size_says_which_way_a_comparison_goes(text, way):
    assert [stated.way for stated in find_comparatives(Question(text))] == [way]
