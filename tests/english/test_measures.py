"""Measures: numbers that a text states, comparisons with them, the most and the least."""

import pytest

from answerkey.english.measures import (
    AGE,
    DATE,
    LEAST,
    MOST,
    RANK,
    SIZE,
    find_comparatives,
    find_superlatives,
    has_number,
    list_numbers,
    read_measure,
    read_number,
)
from answerkey.english.question import Question

STATED = [
    ("1,200 ships and 3,400,500 crates", [1200, 3400500]),
    ("2.5 metres", [2.5]),
    ("5k or 2bn", [5000, 2_000_000_000]),
    ("a dozen crates", [12]),
    ("twenty-five", [25]),
    ("two hundred", [200]),
    ("one or two", [1, 2]),
    ("ten twelve", [10, 12]),
    ("four and twenty", [4, 20]),
    ("the third and the 2nd", [3, 2]),
    ("no number at all", []),
]


@pytest.mark.parametrize(("text", "values"), STATED)
def test_likeliest_value_of_each_number(text, values):
    assert [number.values[0] for number in list_numbers(text)] == values


def test_percent_and_magnitude_may_mean_two_values():
    numbers = list_numbers("40% of 2 million")
    assert [number.values for number in numbers] == [(40, 0.4), (2_000_000, 2)]


@pytest.mark.parametrize("text", ["room B12", "2020-01-31", "HX-7", "10/12/2007", "12:30", "4x4"])
def test_numbers_of_a_code_do_not_stand_alone(text):
    assert not any(number.is_alone for number in list_numbers(text))


def test_a_long_row_of_digits_is_no_number():
    assert list_numbers("9" * 1000) == []
    assert read_number("9" * 1000) is None


@pytest.mark.parametrize(
    ("text", "value", "is_said"),
    [
        ("Which films are longer than 2 hours?", 120, True),
        ("How many flights left in May?", 5, True),
        ("Who are the adults?", 18, True),
        ("Which films are longer than 2 hours?", 90, False),
    ],
)
def test_number_is_said_in_another_unit_or_by_a_word(text: str, value: float, is_said: bool):
    assert has_number(Question(text), [value]) is is_said


MEASURES = [
    ("age", "", AGE),
    ("DOB", "", DATE),
    ("opened_in", "", DATE),
    ("noted", "DATETIME", DATE),  # by its type
    ("position", "", RANK),
    ("stage", "", None),  # age is a word in it, and not a part of one
    ("noted", "INTEGER", None),
]


@pytest.mark.parametrize(("name", "declared_type", "measure"), MEASURES)
def test_name_or_type_of_a_column_says_what_it_measures(name, declared_type, measure):
    assert read_measure(name, declared_type) == measure


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


SUPERLATIVES = [
    ("the cheapest and the priciest", [(LEAST, SIZE), (MOST, SIZE)]),
    ("the youngest", [(LEAST, AGE)]),
    ("the latest", [(MOST, DATE)]),
    ("the most recent", [(MOST, DATE)]),
    ("the least cheap ship", [(MOST, SIZE)]),  # the other end of what the adjective measures
    ("most of them, at least 5, at most ten", []),
    ("the furthest south", []),  # the least latitude
    ("called 'the largest'", []),
]


@pytest.mark.parametrize(("text", "expected"), SUPERLATIVES)
def test_superlative_asks_for_an_end_of_a_measure(text, expected):
    assert [(asked.pole, asked.measure) for asked in find_superlatives(Question(text))] == expected
