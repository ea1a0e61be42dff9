"""The most and the least that a question asks for."""

import pytest

from answerkey.english.measures import AGE, DATE, SIZE
from answerkey.english.question import Question
from answerkey.english.superlatives import LEAST, MOST, find_superlatives

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
