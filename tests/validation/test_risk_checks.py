"""The gold risk of a record must be one, and that of its flag or verdict."""

from __future__ import annotations

import pytest

from answerkey.validation.sidecars import check_gold_risks

JUDGED = {"code": "judged_right", "evidence": {}}
AT_RISK = {"code": "gold_risk", "evidence": {"risk": 0.75, "flags": []}}
TIED = {"code": "tie_at_limit", "evidence": {}}
NUMBER = "gold_risk: expected a number from 0 to 1"


@pytest.mark.parametrize(
    ("risk", "flags", "error"),
    [
        (0.13, [], None),
        (0.3, [TIED], None),
        (0.75, [TIED, AT_RISK], None),
        (0.0, [TIED, JUDGED], None),
        (None, [], None),
        (None, [TIED], f"{NUMBER}, found None"),
        ("0.3", [], f"{NUMBER}, found '0.3'"),
        (True, [], f"{NUMBER}, found True"),
        (1.5, [], f"{NUMBER}, found 1.5"),
        (float("nan"), [], f"{NUMBER}, found nan"),
        (0.7, [AT_RISK], "gold_risk: expected 0.75, as the flag gold_risk has it, found 0.7"),
        (0.7, [JUDGED], "gold_risk: expected 0.0, as the flag judged_right has it, found 0.7"),
    ],
)
def test_risk_must_be_a_number_and_that_of_its_flags(risk, flags, error):
    record = {"question_id": "a", "flags": flags, "gold_risk": risk}
    found = check_gold_risks({"audit.jsonl": [record]})
    assert found == ([] if error is None else [f"a: audit.jsonl: {error}"])


def test_record_without_the_field_is_named():
    found = check_gold_risks({"excluded.jsonl": [{"question_id": "a", "flags": []}]})
    assert found == [f"a: excluded.jsonl: {NUMBER}, or null, found no such field"]
