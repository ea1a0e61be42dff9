"""What the name of a column says of its values."""

import pytest

from answerkey.english.measures import AGE, DATE, RANK, read_measure

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
