"""Where in a text a question wants a value to stand."""

import pytest

from answerkey.english.support import find_asked_place

PLACES = [
    ("names that contain the word 'VALUE'", "anywhere"),
    ("names with the letter VALUE", "anywhere"),
    ("ships that have VALUE in their name", "anywhere"),
    ("names that start with VALUE", "start"),
    ("names beginning with the letters 'VALUE'", "start"),
    ("names ending in VALUE", "end"),
    ("containers of VALUE", None),
    ("names that start with S and are in VALUE", None),
    ("ships called VALUE", None),
]


@pytest.mark.parametrize(("text", "place"), PLACES)
def test_place_of_a_value(text, place):
    start = text.index("VALUE")
    found = find_asked_place(text, start, start + 5)
    assert (found and found[0]) == place
