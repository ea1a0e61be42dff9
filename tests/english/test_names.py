"""Names that a question gives."""

import pytest

from answerkey.english.names import list_names, list_quoted

NAMES = [
    ("Which ships sail to Port Louis?", ["Port Louis"]),
    ("Alda owns which ships? Bree does not.", []),
    ("the class 'Sun' and the class “Moon”", ["Sun", "Moon"]),
    ("the crew's names and the 'Sun'", ["Sun"]),
    ("Show Alda's ships of Cork", ["Alda", "Cork"]),
    ("ships built in March or on a Sunday, as YYYY-MM", []),
    ("Which Ships Sail To Port Louis From Cork Harbour?", []),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_names(text, names):
    assert [name.text for name in list_names(text)] == names


def test_places_of_names_hold_their_texts():
    text = "Which ships of Port Louis are in the 'Sun' class?"
    assert [text[name.start : name.end] for name in list_names(text)] == ["'Sun'", "Port Louis"]


def test_long_text_without_an_end_of_quote_has_no_name():
    assert list_quoted('"' + "x" * 1000) == []
