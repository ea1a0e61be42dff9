"""The assessment: a risk for each question that has an answer, its flag, and its verdict."""

from __future__ import annotations

import pytest

from answerkey.dataset import Question
from answerkey.risk.gold_risk import Assessment, Count, Counts, RiskTable
from answerkey.risk.verdicts import Verdict
from tests.shared.joined_questions import make_joined

TABLE = RiskTable({"spider": Counts(Count(1000, 100), {}, {"cross_join": Count(98, 80)})})
CROSS = {"code": "cross_join", "evidence": {}}
PARAPHRASE = {"code": "paraphrase_of", "evidence": {}}


def assess(
    question: Question, *verdicts: Verdict, min_gold_risk: float = 0.5
) -> tuple[Question, list[str]]:
    """The assessed question, and the lines of the log."""
    assessment = Assessment(TABLE, verdicts, min_gold_risk=min_gold_risk)
    return assessment.assess(question), assessment.describe()


def ask(**known: object) -> Question:
    names = {"database_name": "ships", "question_text": "How many?", "gold_sql": "SELECT 1"}
    return make_joined("ships_train_000", **names | {"answer_type": "integer"} | known)


def judge(verdict: str, gold_sql: str = "SELECT 1", **known: str) -> Verdict:
    names = {"where": "data/verdicts/kim.jsonl:1", "corpus": "x", "database_name": "ships"}
    text = {"question_text": "How many?", "gold_sql": gold_sql, "verdict": verdict}
    said = {"reason": "Seen.", "source": "person:kim", "date": "2026-03-01"}
    return Verdict(**names | text | said | known)


def codes(question: Question) -> list[str]:
    return [flag["code"] for flag in question.flags]


def test_risk_from_the_threshold_on_is_a_flag():
    found, lines = assess(ask(flags=[CROSS, PARAPHRASE]))
    assert (found.gold_risk, codes(found)) == (0.802, ["cross_join", "paraphrase_of", "gold_risk"])
    assert found.flags[-1]["evidence"] == {
        "risk": 0.802,
        "base": 0.1,
        "flags": [{"code": "cross_join", "precision": 0.802}],
    }
    assert lines == ["1 questions have a gold risk of 0.5 or more"]


def test_threshold_is_a_parameter_and_is_met_where_it_is_reached():
    question = ask(flags=[CROSS])
    for threshold, is_at_risk in ((0.802, True), (0.803, False)):
        found, _ = assess(question, min_gold_risk=threshold)
        assert found.gold_risk == 0.802
        assert ("gold_risk" in codes(found)) is is_at_risk


def test_high_risk_without_a_strong_sign_is_no_flag():
    bird = Counts(Count(100, 80), {}, {"cross_join": Count(98, 80)})
    assessment = Assessment(RiskTable({"bird": bird}), [], min_gold_risk=0.5)
    found = assessment.assess(ask(flags=[CROSS]))
    assert (found.gold_risk > 0.8, codes(found)) == (True, ["cross_join"])


def test_question_without_answer_has_no_risk_and_no_flags():
    found, _ = assess(ask(answer_type=None), judge("wrong"))
    assert (found.gold_risk, found.flags) == (None, [])


@pytest.mark.parametrize(("verdict", "risk"), [("right", 0.0), ("wrong", 1.0)])
def test_verdict_goes_before_what_flags_say(verdict, risk):
    found, lines = assess(ask(flags=[CROSS]), judge(verdict))
    assert (found.gold_risk, codes(found)) == (risk, ["cross_join", f"judged_{verdict}"])
    assert found.flags[1]["evidence"]["source"] == "person:kim"
    assert lines[1:] == ["1 verdicts, 0 verdicts of other databases"]


def test_verdict_about_other_gold_is_void_and_said_so():
    found, lines = assess(ask(flags=[CROSS]), judge("right", "SELECT 2"))
    assert (found.gold_risk, codes(found)) == (0.802, ["cross_join", "gold_risk"])
    assert lines[1:] == [
        "0 verdicts, 0 verdicts of other databases",
        "1 verdicts are void, since no question has their text and gold SQL now:"
        " data/verdicts/kim.jsonl:1",
    ]


def test_verdict_about_a_database_that_is_not_here_is_not_void():
    _, lines = assess(ask(), judge("right", database_name="planes"))
    assert lines[1:] == ["0 verdicts, 1 verdicts of other databases"]
