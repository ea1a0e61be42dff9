"""Names of tables and columns, and the words that may stand for them."""

import pytest

from answerkey.english.columns import (
    is_named,
    is_table_of,
    list_own_words,
    may_mean,
    name_column,
    split_name,
)
from answerkey.english.question import Question, list_words

MEANT = [
    ("pop", "population"),  # its start
    ("cust", "customer"),  # some of its letters, in their order
    ("petid", "id"),  # glued to another word
    ("ships", "ship"),  # one stem
    ("price", "expensive"),  # what it measures
    ("fee", "cost"),  # another word for it
]
NOT_MEANT = [("age", "wage"), ("dt", "date"), ("no", "note"), ("country", "county")]


@pytest.mark.parametrize(("own", "word"), MEANT)
def test_word_of_a_name_may_mean_an_english_word(own, word):
    assert may_mean(*list_words(f"{own} {word}"))


@pytest.mark.parametrize(("own", "word"), NOT_MEANT)
def test_word_of_a_name_does_not_mean_any_word_like_it(own, word):
    assert not may_mean(*list_words(f"{own} {word}"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("BirthDate", ["birth", "date"]),
        ("ship_fname", ["ship", "first", "name"]),
        ("DOB", ["date", "birth"]),
        ("qty2", ["qty", "2"]),  # a short form is a whole part between underscores
    ],
)
def test_name_is_split_and_short_forms_are_written_out(name, words):
    assert [word.text for word in split_name(name)] == words


def test_words_of_the_table_are_not_a_columns_own():
    assert [word.text for word in list_own_words("ships", "ship_home_port")] == ["home", "port"]
    assert list_own_words("ship", "Ships") == ()


@pytest.mark.parametrize(
    ("stems", "table", "is_its_name"),
    [
        (("old", "ship"), "ships", True),
        (("ship", "visit"), "ship_visit", True),
        (("visit",), "ship_visit", False),  # of a part of its name alone
        (("ship", "owner"), "ships", False),
    ],
)
def test_noun_names_a_table(stems, table, is_its_name):
    assert is_table_of(stems, table) is is_its_name


def test_meaning_of_a_column_names_it():
    words = list_words("salary")
    assert not is_named(name_column("A11", Question("")), words)
    assert is_named(name_column("A11", Question("", meanings={"a11": "average pay"})), words)
