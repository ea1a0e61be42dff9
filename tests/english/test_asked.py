"""What a question asks for, and which things it counts."""

import pytest

from answerkey.english.asked import find_asked_words, list_counted
from answerkey.english.question import Question

ASKED = [
    # from a verb or a word such as `what` to a word that says of what
    ("Please give me the age and rank of sailors.", "give me the age and rank"),
    ("What is the name of the oldest ship?", "what is the name"),
    ("Sort by age and show the names.", "show the names"),
    ("Find the ships. Sort them by age.", "find the ships"),
    ("List names; berths are wide.", "list names"),
    # a noun that may be a verb is one at the start of a sentence
    ("Report the state of ships.", "report the state"),
    ("The report of each ship.", ""),
    # `which` asks for a noun, and with a form of `be` for all that follows
    ("Which ships have the most crew?", "which ships"),
    ("Which port got the most kilos?", "which port got"),
    ("Which are the oldest ships?", "which are the oldest ships"),
    ("How many ships are there?", ""),
]


@pytest.mark.parametrize(("text", "expected"), ASKED)
def test_words_that_say_what_is_asked_for(text, expected):
    question = Question(text)
    asked = [question.words[index].text for index in sorted(find_asked_words(question))]
    assert " ".join(asked) == expected


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
