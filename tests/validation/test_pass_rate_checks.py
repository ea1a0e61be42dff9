"""Pass rates beside the product must be of its questions, and add up."""

from __future__ import annotations

import pytest

from answerkey.validation.sidecars import check_pass_rates

MODELS = {
    "a": {"total": 2, "database": 2, "suite": 1},
    "b": {"total": 1, "database": 0, "suite": 0},
}
RATE = {"question_id": "q", "total": 3, "database": 2, "suite": 1, "models": MODELS}
QUESTIONS = [{"question_id": "q"}, {"question_id": "without"}]


@pytest.mark.parametrize(
    ("rates", "error"),
    [
        ([RATE], None),
        ([RATE, RATE], "expected one record, found another"),
        ([{**RATE, "question_id": "p"}], "expected only questions of the product"),
        ([{**RATE, "total": 4}], "total: expected 3, the sum of its models, found 4"),
        ([{**RATE, "suite": 3}], "all models: expected counts 0 <= suite <= database <= total"),
        ([{**RATE, "total": 0, "database": 0, "suite": 0, "models": {}}], "all models: expected"),
        ([{"question_id": "q"}], "expected the fields question_id, total, database, suite, models"),
    ],
)
def test_rates_are_of_questions_and_add_up(rates, error):
    found = check_pass_rates(QUESTIONS, rates)
    if error is None:
        assert found == []
    else:
        (message,) = found
        assert message.startswith(f"{rates[0]['question_id']}: pass_rates.jsonl: {error}")
