"""Questions: what stands in quotation marks, and what the evidence says."""

import pytest

from answerkey.english.question import Question, mask_quotations

MASKED = [
    ("Who's 'Al' called?", "who's      called?"),
    ("say “Hi” or ‘Ho’ there", "say      or      there"),
    ("the crew's 'No Way' is 5' long", "the crew's          is 5' long"),  # an apostrophe, feet
    ("he is 5'10\" tall", "he is 5'10\" tall"),
]


@pytest.mark.parametrize(("text", "masked"), MASKED)
def test_quotations_are_blanks_and_apostrophes_stay(text, masked):
    assert mask_quotations(text) == masked


def test_word_in_quotation_marks_is_no_plain_word():
    question = Question("Is 'Sun' the sun?")
    assert [word.text for word in question.words] == ["is", "sun", "the", "sun"]
    assert [word.text for word in question.plain_words] == ["is", "the", "sun"]


EXPLAINED = [
    ("rich means salary > 10", "Salary>10", True),  # case and spaces at signs say nothing
    ("rich means salary > 10", "salary > 1", False),  # of whole words and numbers
    ("women: `sex` = 'F'", 'sex = "f"', True),  # nor do quotes
    ("ids stand in id_no", "id", False),
    (None, "id", False),
]


@pytest.mark.parametrize(("evidence", "text", "is_explained"), EXPLAINED)
def test_evidence_explains_what_it_has(evidence, text, is_explained):
    assert Question("Who?", evidence).explains(text) is is_explained


def test_nothing_explains_the_empty_text():
    assert not Question("Who?", "a = 1").explains("")


def test_words_of_the_evidence_are_said_but_not_the_questions_own():
    question = Question("Which ships?", "ships of the navy")
    assert "navy" in {word.text for word in question.said_words}
    assert "navy" not in {word.text for word in question.words}
