"""The things that a question counts."""

import pytest

from answerkey.english.counted import list_counted
from answerkey.english.question import Question

COUNTED = [
    ("Which port has the most ships?", [("ship",)]),
    ("the number of old ships", [("old", "ship")]),
    ("How many people live here?", [("peopl",)]),
    ("ports that have 3 berths", [("berth",)]),
    ("How many ships visit how many ships?", [("ship",)]),  # each once
    # no things: a part of them, a singular, a phrase that ends, a number that bounds nothing
    ("How many of the ships sank?", []),
    ("How much glass is there?", []),
    ("How many, say, ships?", []),
    ("ports with 3 berths", []),
]


@pytest.mark.parametrize(("text", "stems"), COUNTED)
def test_things_that_are_counted(text, stems):
    assert [counted.stems for counted in list_counted(Question(text))] == stems


def test_phrase_of_what_is_counted_is_that_of_the_question():
    (counted,) = list_counted(Question("Tell the Number of old SHIPS in port"))
    assert counted.phrase == "Number of old SHIPS"
