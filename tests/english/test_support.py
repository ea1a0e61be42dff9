"""Whether the words of a question can stand for a value."""

import pytest

from answerkey.english.question import Question
from answerkey.english.support import Wording

SUPPORTED = [
    ("ships of the red class", "Red"),
    ("countries", "country"),
    ("female captains", "F"),
    ("women", "female"),
    ("ships from California", "CA"),
    ("ports in LA", "Los Angeles"),
    ("American ships", "USA"),
    ("the United States", "US"),
    ("under the Maltese flag", "Malta"),
    ("inspections that ended in failure", "failed"),
    ("the assistant professors", "AsstProf"),
    ("computer science", "Comp. Sci."),
    ("Accomodation costs", "accommodation"),
    ("which are insured", "Y"),
    ("without a captain", "null"),
    ("built before May 7, 2001", "2001-05-07"),
    ("in August", "8/"),
    ("in November", "11"),
    ("on Sundays", "0"),
    ("room 7", "Room 007"),
    ("the Black-Sea fleet", "Black Sea"),
]
NOT_SUPPORTED = [
    ("ships of the red class", "blue"),
    ("ships from California", "TX"),
    ("all captains", "female"),
    ("built before 2001", "2007-05-07"),
    ("the enzyme Sun", "Moon IX"),
    ("in August", "9/"),
]


@pytest.mark.parametrize(("text", "value"), SUPPORTED)
def test_value_is_supported(text, value):
    assert Wording(Question(text)).supports(value)


@pytest.mark.parametrize(("text", "value"), NOT_SUPPORTED)
def test_value_is_not_supported(text, value):
    assert not Wording(Question(text)).supports(value)


def test_evidence_supports_a_value():
    assert not Wording(Question("all ships at sea")).supports("SEA_7")
    assert Wording(Question("all ships at sea", "at sea: state = 'Q_7'")).supports("Q_7")


def test_missing_words_are_listed():
    assert Wording(Question("a city harbour")).list_missing("Grand Harbour") == ["grand"]


def test_text_of_a_megabyte_is_read():
    text = " ".join(f"w{number}" for number in range(120_000))
    assert Wording(Question(text)).list_missing("Protoporphyrin") == ["protoporphyrin"]
