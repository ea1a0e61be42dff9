"""The numbers that a text states."""

import pytest

from answerkey.english.question import Question
from answerkey.english.stated_numbers import has_number, list_numbers, read_number

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
