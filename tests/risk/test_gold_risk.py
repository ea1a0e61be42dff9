"""Gold risk: what hardness and flags say together, the flag that follows, and verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import write_json
from answerkey.dataset import Question
from answerkey.risk.gold_risk import (
    NO_SIGNS,
    Assessment,
    Count,
    Counts,
    Risk,
    RiskTable,
    Sign,
    list_signs,
    read_risk_table,
)
from answerkey.risk.verdicts import Verdict
from tests.shared.joined_questions import make_joined
from tests.shared.paths import FLAG_PRECISION

CROSS, TIE = Sign("cross_join", None), Sign("latent_tie", None)
SURE, DOUBTFUL = Sign("negation_mismatch", "never"), Sign("negation_mismatch", "not")
MODELS = Sign("models_agree_otherwise", "most")


def make_counts(wrong: int = 100, **hardness: Count) -> Counts:
    flags = {
        "cross_join": Count(98, 80),
        "latent_tie": Count(98, 20),
        "boolean_answer": Count(96, 1),
        "negation_mismatch": Count(96, 50),
        "date_text_order": Count(1, 1),
        "models_agree_otherwise": Count(98, 60),
    }
    kinds = {SURE: Count(40, 38), DOUBTFUL: Count(56, 12), MODELS: Count(40, 38)}
    return Counts(Count(1000, wrong), dict(hardness), flags, kinds)


TABLE = RiskTable({"spider": make_counts()})


def estimate(*signs: Sign, hardness: str | None = None, corpus: str = "mine") -> Risk:
    return TABLE.estimate(corpus, hardness, signs)


def test_question_has_the_base_rate_or_the_risk_that_was_measured_of_its_sign():
    found = estimate()
    assert (found.risk, found.base, found.signs) == (0.1, pytest.approx(0.1), [])
    assert estimate(CROSS).risk == pytest.approx(0.802, abs=1e-4)  # (80 + 2 * 0.1) / 100
    assert estimate(TIE).risk == pytest.approx(0.202, abs=1e-4)


def test_of_several_signs_of_a_query_the_strongest_counts():
    assert estimate(CROSS, TIE).risk == estimate(TIE, CROSS).risk == estimate(CROSS).risk


def test_agreement_of_models_counts_beside_the_signs_of_the_query():
    alone, both = estimate(MODELS).risk, estimate(MODELS, CROSS).risk
    assert 1 - both == pytest.approx((1 - alone) * (1 - estimate(CROSS).risk) / 0.9, abs=1e-4)


def test_sure_kind_weighs_more_than_a_doubtful_one_and_a_new_kind_as_its_flag():
    unknown = estimate(Sign("negation_mismatch", "nobody")).risk
    assert unknown == estimate(Sign("negation_mismatch", None)).risk
    assert estimate(DOUBTFUL).risk < unknown < estimate(SURE).risk


def test_flag_that_was_seen_once_stays_near_the_base():
    assert 0.1 < estimate(Sign("date_text_order", None)).risk < 0.5


@pytest.mark.parametrize("code", ["boolean_answer", "never_seen"])
def test_flag_that_is_seldom_right_or_was_never_measured_counts_nothing(code):
    assert estimate(Sign(code, None)) == estimate()
    assert estimate(Sign(code, None), CROSS) == estimate(CROSS)


def test_harder_queries_have_a_higher_base():
    levels = {"easy": Count(900, 45), "extra": Count(100, 55)}
    table = RiskTable({"spider": make_counts(**levels)})
    easy, extra = (table.estimate("mine", level, []) for level in levels)
    assert easy.risk < 0.1 < extra.risk
    assert table.estimate("mine", "extra", [CROSS]).risk > estimate(CROSS).risk


def test_corpus_that_was_judged_has_its_own_base_and_its_own_signs():
    bird = Counts(Count(200, 80), {}, {"latent_tie": Count(100, 95)})
    table = RiskTable({"spider": make_counts(), "bird": bird})
    assert table.estimate("bird", None, []).risk == 0.4
    assert table.estimate("spider", None, []).risk == 0.1
    assert table.estimate("mine", None, []).risk == 0.15
    assert table.estimate("bird", None, [TIE]).risk > table.estimate("spider", None, [TIE]).risk
    # A sign that nobody judged there takes away the share that it takes away elsewhere.
    assert table.estimate("bird", None, [CROSS]).risk > 0.8


def test_evidence_names_base_and_signs_by_strength():
    evidence = estimate(TIE, Sign("boolean_answer", None), SURE, CROSS).describe()
    assert (evidence["base"], len(evidence["flags"])) == (0.1, 3)
    assert evidence["flags"][0]["kind"] == "never"
    assert evidence["flags"][1:] == [
        {"code": "cross_join", "precision": 0.802},
        {"code": "latent_tie", "precision": 0.202},
    ]


def test_sign_is_a_flag_that_speaks_of_its_query_with_the_kind_of_its_evidence():
    flags = [{"code": "cross_join", "evidence": {}}]
    flags += [{"code": code, "evidence": {"kind": "x"}} for code in ("latent_tie", *NO_SIGNS)]
    assert list_signs(flags * 2) == [CROSS, Sign("latent_tie", "x")]


def of_corpus(**entries: Any) -> dict[str, Any]:
    return {"spider": {"questions": 5, "wrong": 1, "hardness": {}, "flags": {}} | entries}


def test_table_has_counts_by_hardness_flag_and_kind(tmp_path):
    path = tmp_path / "table.json"
    tie = {"questions": 4, "wrong": 2, "kinds": {"text": {"questions": 3, "wrong": 1}}}
    hardness = {"easy": {"questions": 5, "wrong": 1}}
    write_json(path, of_corpus(hardness=hardness, flags={"latent_tie": tie}))
    assert read_risk_table(path).corpora == {
        "spider": Counts(
            Count(5, 1),
            {"easy": Count(5, 1)},
            {"latent_tie": Count(4, 2)},
            {Sign("latent_tie", "text"): Count(3, 1)},
        )
    }


def test_table_of_the_project_ranks_what_doubts_gold_above_the_base():
    table = read_risk_table(FLAG_PRECISION)
    assert set(table.corpora) == {"bird", "spider"}
    assert table.estimate("bird", "easy", []).risk > table.estimate("spider", "easy", []).risk
    assert table.estimate("spider", "easy", [Sign("projection_mismatch", None)]).risk > 0.5


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"spider": []},
        of_corpus(wrong=0),
        of_corpus(wrong=5),
        of_corpus(flags=None),
        of_corpus(hardness={"easy": 3}),
        of_corpus(flags={"x": {"questions": 1, "wrong": 1}}),
    ],
)
def test_file_that_is_no_table_is_named(tmp_path, values):
    path = tmp_path / "table.json"
    write_json(path, values)
    with pytest.raises(InputError, match=r"table.json: expected what benchmarks/gold_flags.py wri"):
        read_risk_table(path)


def test_missing_table_says_which_param_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"compare_questions\.flag_precision"):
        read_risk_table(tmp_path / "table.json")


# The flag and the verdict


ONE_SIGN = RiskTable({"spider": Counts(Count(1000, 100), {}, {"cross_join": Count(98, 80)})})
CROSS_FLAG = {"code": "cross_join", "evidence": {}}
PARAPHRASE = {"code": "paraphrase_of", "evidence": {}}


def assess(
    question: Question, *verdicts: Verdict, min_gold_risk: float = 0.5
) -> tuple[Question, list[str]]:
    """The assessed question, and the lines of the log."""
    assessment = Assessment(ONE_SIGN, verdicts, min_gold_risk=min_gold_risk)
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
    question = ask(flags=[CROSS_FLAG, PARAPHRASE])
    found, lines = assess(question, min_gold_risk=0.802)
    assert (found.gold_risk, codes(found)) == (0.802, ["cross_join", "paraphrase_of", "gold_risk"])
    signs = [{"code": "cross_join", "precision": 0.802}]
    assert found.flags[-1]["evidence"] == {"risk": 0.802, "base": 0.1, "flags": signs}
    assert lines == ["1 question with a gold risk of 0.802 or more"]
    below, _ = assess(question, min_gold_risk=0.803)
    assert (below.gold_risk, below.flags) == (0.802, question.flags)


def test_high_risk_without_a_strong_sign_is_no_flag():
    bird = Counts(Count(100, 80), {}, {"cross_join": Count(98, 80)})
    assessment = Assessment(RiskTable({"bird": bird}), [], min_gold_risk=0.5)
    found = assessment.assess(ask(flags=[CROSS_FLAG]))
    assert (found.gold_risk > 0.8, codes(found)) == (True, ["cross_join"])


def test_question_without_answer_has_no_risk_and_no_flags():
    found, _ = assess(ask(answer_type=None), judge("wrong"))
    assert (found.gold_risk, found.flags) == (None, [])


@pytest.mark.parametrize(("verdict", "risk"), [("right", 0.0), ("wrong", 1.0)])
def test_verdict_goes_before_what_flags_say(verdict, risk):
    found, lines = assess(ask(flags=[CROSS_FLAG]), judge(verdict))
    assert (found.gold_risk, codes(found)) == (risk, ["cross_join", f"judged_{verdict}"])
    assert found.flags[1]["evidence"]["source"] == "person:kim"
    assert lines[1:] == ["1 verdict, 0 verdicts of other databases"]


def test_verdict_about_other_gold_is_void_and_said_so():
    found, lines = assess(ask(flags=[CROSS_FLAG]), judge("right", "SELECT 2"))
    assert (found.gold_risk, codes(found)) == (0.802, ["cross_join", "gold_risk"])
    assert lines[1:] == [
        "0 verdicts, 0 verdicts of other databases",
        "1 void verdict, of texts and gold SQL that no question has now: data/verdicts/kim.jsonl:1",
    ]


def test_verdict_about_a_database_that_is_not_here_is_not_void():
    _, lines = assess(ask(), judge("right", database_name="planes"))
    assert lines[1:] == ["0 verdicts, 1 verdict of other databases"]
