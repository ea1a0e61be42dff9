"""What a question asks for."""

import pytest

from answerkey.english.asked import find_asked_words
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
