"""What questions share with those of the other split."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.comparison.compare import SetRecord, find_in_database
from tests.comparison.records import find_across, flags, held_out, record


def train(number: int, text: str, template: str = "T") -> SetRecord:
    return record(number, text, template=template)


SAME_TEMPLATE = ["template_in_both_splits"]
ACROSS = {
    "the same text": (
        [train(0, "How many are there?", "T")],
        [held_out(1, "how many are there", "U")],
        {"000": ["question_in_both_splits"], "001": ["question_in_both_splits"]},
    ),
    "the same template": (
        [train(0, "How many ships are there?")],
        [held_out(1, "Count the animals.")],
        {"000": SAME_TEMPLATE, "001": SAME_TEMPLATE},
    ),
    "nearly the same text and the same template": (
        [train(0, "What is the average age of all the cats?")],
        [held_out(1, "What is the average age of all the rats?")],
        {
            "000": ["near_duplicate_question", *SAME_TEMPLATE],
            "001": ["near_duplicate_question", *SAME_TEMPLATE],
        },
    ),
    "nearly the same text and another template": (
        [train(0, "What is the average age of all the cats?", "T")],
        [held_out(1, "What is the average age of all the rats?", "U")],
        {},
    ),
    "the same text and the same template": (
        [train(0, "How many are there?")],
        [held_out(1, "How many are there?")],
        {
            "000": ["question_in_both_splits", *SAME_TEMPLATE],
            "001": ["question_in_both_splits", *SAME_TEMPLATE],
        },
    ),
    "half of a surrogate pair": (
        [train(0, "How many \ud800 are there?", "T '\ud800'")],
        [held_out(1, "How many \ud801 are there?", "T '\ud800'")],
        {
            "000": ["near_duplicate_question", *SAME_TEMPLATE],
            "001": ["near_duplicate_question", *SAME_TEMPLATE],
        },
    ),
    "no template": ([train(0, "How many?", "")], [held_out(1, "Who?", "")], {}),
    "nothing held out": ([train(0, "How many?")], [], {}),
    "nothing trained on": ([], [held_out(0, "How many?")], {}),
}


@pytest.mark.parametrize(("trained", "held", "expected"), ACROSS.values(), ids=ACROSS)
def test_questions_of_both_splits(trained, held, expected):
    assert flags(find_across(*trained, *held)) == expected


def test_evidence_counts_the_other_split():
    trained = [train(number, f"Question number {number} of the fleet") for number in (12, 3, 7)]
    held = [held_out(1000, "Name a bird"), held_out(999, "Name a fish")]
    found = find_across(*trained, *held)
    assert found["fleet_train_012"][0].evidence == {
        "template": "T",
        "count": 2,
        "example": "zoo_eval_999",
    }
    assert found["zoo_eval_1000"][0].evidence == {
        "template": "T",
        "count": 3,
        "example": "fleet_train_003",
    }
    found = find_across(
        train(5, "What is the age of a cat?"),
        train(4, "What is the age of a cat??"),
        held_out(0, "What is the age of a rat?"),
        held_out(1, "What is the age of a bat?"),
    )
    near = found["zoo_eval_000"][0].evidence
    assert near == {"other": "fleet_train_004", "similarity": 0.958}
    assert found["fleet_train_005"][0].evidence["other"] == "zoo_eval_000"


VOCABULARY = "how many ships are there in a zoo ?"
WORDS = st.lists(st.sampled_from(VOCABULARY.split()), max_size=6)
RECORDS = st.lists(
    st.tuples(WORDS, st.sampled_from("pqr"), st.integers(0, 2), st.sampled_from("TU")), max_size=12
)


@given(drawn=RECORDS, held=RECORDS, seed=st.integers(0, 9))
def test_order_of_records_changes_nothing(drawn, held, seed):
    trained = [
        record(number, " ".join(words), sql, answer, template=template)
        for number, (words, sql, answer, template) in enumerate(drawn)
    ]
    kept = [held_out(number, " ".join(words), t) for number, (words, _, _, t) in enumerate(held)]
    expected = find_in_database(trained), find_across(*trained, *kept)
    shuffled, both = trained[:], trained + kept
    random.Random(seed).shuffle(shuffled)
    random.Random(seed).shuffle(both)
    assert (find_in_database(shuffled), find_across(*both)) == expected
    for findings in expected:
        for found in findings.values():
            for finding in found:
                assert len(json.dumps(finding.evidence)) < 1000
