"""Gold risk: what flags say together, by how often each was right."""

from __future__ import annotations

import pytest

from answerkey.risk.gold_risk import (
    Count,
    FlagPrecision,
    Sign,
    describe_risk,
    estimate_risk,
    weigh_signs,
)

CROSS = Sign("cross_join", None)
TIE = Sign("latent_tie", None)
SURE, DOUBTFUL = Sign("negation_mismatch", "never"), Sign("negation_mismatch", "not")
TABLE = FlagPrecision(
    Count(1000, 100),
    {
        "cross_join": Count(98, 80),
        "latent_tie": Count(98, 20),
        "guessable": Count(96, 1),
        "negation_mismatch": Count(96, 50),
        "repeated_column": Count(1, 1),
    },
    {SURE: Count(40, 38), DOUBTFUL: Count(56, 12)},
)
BASE = 0.1


def risk(*signs: Sign) -> float:
    return estimate_risk(TABLE, weigh_signs(TABLE, signs))


def test_question_without_flags_has_the_base_rate():
    assert risk() == BASE


def test_question_with_one_flag_has_the_risk_that_was_measured():
    assert risk(CROSS) == pytest.approx(0.802, abs=1e-4)  # (80 + 2 * 0.1) / 100
    assert risk(TIE) == pytest.approx(0.202, abs=1e-4)


def test_each_further_flag_takes_a_share_of_what_is_left():
    assert risk(CROSS, TIE) == risk(TIE, CROSS)
    assert risk(CROSS, TIE) == pytest.approx(1 - 0.198 * 0.798 / 0.9, abs=1e-4)


def test_sure_kind_weighs_more_than_a_doubtful_one_and_a_new_kind_as_its_flag():
    unknown = risk(Sign("negation_mismatch", "nobody"))
    assert unknown == risk(Sign("negation_mismatch", None))
    assert risk(DOUBTFUL) < unknown < risk(SURE)


def test_flag_that_was_seen_once_stays_near_the_base():
    assert BASE < risk(Sign("repeated_column", None)) < 0.5


@pytest.mark.parametrize("code", ["guessable", "having_without_group"])
def test_flag_that_is_seldom_right_or_was_never_measured_counts_nothing(code):
    assert risk(Sign(code, None)) == BASE
    assert risk(Sign(code, None), CROSS) == risk(CROSS)


def test_evidence_names_the_flags_that_made_the_risk_by_strength():
    weighed = weigh_signs(TABLE, [TIE, Sign("guessable", None), SURE, CROSS])
    evidence = describe_risk(0.99, weighed)
    assert evidence["risk"] == 0.99
    assert [flag["code"] for flag in evidence["flags"]] == [
        "negation_mismatch",
        "cross_join",
        "latent_tie",
    ]
    assert evidence["flags"][0]["kind"] == "never"
    assert evidence["flags"][1] == {"code": "cross_join", "precision": 0.802}
