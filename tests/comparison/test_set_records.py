"""What is compared of a question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from answerkey.comparison.compare import normalize_question, sort_key


@given(text=st.text())
def test_normalizing_twice_is_normalizing_once(text):
    once = normalize_question(text)
    assert normalize_question(once) == once


def test_normalized_text():
    assert normalize_question("\uff28ow\u00a0many ships?! ") == "how many ships"
    assert normalize_question("Is 3.5 > 2?") == "is 3.5 > 2"
    assert normalize_question("ships 'A.'?") != normalize_question("ships 'A'?")


def test_question_ids_sort_by_their_number():
    ids = ["b_train_2", "a_train_1000", "a_train_999", "a_eval_5"]
    assert sorted(ids, key=sort_key) == ["a_eval_5", "a_train_999", "a_train_1000", "b_train_2"]
