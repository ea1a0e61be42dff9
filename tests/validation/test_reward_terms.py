"""What the sidecar tells the reward can be read, and accepts the gold answer itself."""

from __future__ import annotations

import pytest

from answerkey.validation.sidecars import check_reward_terms

QUESTION = {"question_id": "a_train_000", "gold_answer": ["Sun", "Tern"]}
NOTHING = {"rows": [["Heron"]], "take": 0}
SEGMENTS = [{"rows": [["Sun"]], "take": 1}, {"rows": [["Kite"], ["Tern"]], "take": 1}]
AUDIT = {
    "question_id": "a_train_000",
    "order_matters": True,
    "max_steps": 1_000_000,
    "rule": "strict",
    "accepted_rows": SEGMENTS,
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"accepted_rows": None}, None),
        ({"accepted_rows": [1, 1]}, None),
        ({"accepted_rows": [2]}, None),
        ({"accepted_rows": [1, SEGMENTS[1]]}, None),
        ({"accepted_rows": [1]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": [1, 2]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": [2, 0]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": [SEGMENTS[1], 1]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": "2"}, "accepted_rows: expected segments that accept"),
        ({"rule": "subset,=,3"}, None),
        ({"max_steps": 999_999}, "max_steps: expected a whole number from 1000000, found 999999"),
        ({"max_steps": None}, "max_steps: expected a whole number from 1000000, found None"),
        ({"max_steps": 2e6}, "max_steps: expected a whole number from 1000000, found 2000000.0"),
        ({"rule": None}, "rule: expected text, found None"),
        ({"rule": "strictly"}, "rule: "),
        ({"accepted_rows": SEGMENTS[:1]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": SEGMENTS[::-1]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": [["Sun"]]}, "accepted_rows: expected segments that accept"),
        ({"accepted_rows": [{"rows": [["Sun"]], "take": 2}]}, "accepted_rows: expected segments"),
        ({"accepted_rows": [*SEGMENTS, NOTHING]}, "accepted_rows: expected segments that accept"),
    ],
)
def test_terms_must_be_readable_and_accept_gold(change, expected):
    errors = check_reward_terms([QUESTION], [AUDIT | change])
    assert len(errors) == (expected is not None)
    assert all(error.startswith(f"a_train_000: audit.jsonl: {expected}") for error in errors)


def test_sidecar_of_an_older_run_is_an_error_and_no_crash():
    assert len(check_reward_terms([QUESTION], [{"question_id": "a_train_000"}])) == 2
