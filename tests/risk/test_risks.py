"""The two risks: what hardness and signs say together, the flag that follows, and verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import hash_question, write_json
from answerkey.dataset import Question
from answerkey.flags import FLAGS
from answerkey.risk.risks import (
    SIGNS,
    Assessment,
    Count,
    Counts,
    Risk,
    Risks,
    RiskTable,
    Sign,
    list_signs,
    read_risks,
)
from answerkey.risk.verdicts import Execution, Verdict, name_pair
from tests.shared.joined_questions import make_joined
from tests.shared.paths import FLAG_PRECISION

CROSS, TIE = Sign("cross_join"), Sign("tie_at_limit")
DATE = Sign("numeric_text_order")
SURE, DOUBTFUL = Sign("comparison_mismatch", "never"), Sign("comparison_mismatch", "not")
MODELS = Sign("models_agree_otherwise", "most")


def make_counts(wrong: int = 100, **unsigned: Count) -> Counts:
    signs = {
        CROSS: Count(98, 80),
        TIE: Count(98, 20),
        Sign("boolean_answer"): Count(96, 1),
        Sign("comparison_mismatch"): Count(96, 50),
        SURE: Count(40, 38),
        DOUBTFUL: Count(56, 12),
        DATE: Count(1, 1),
        Sign("models_agree_otherwise"): Count(98, 60),
        MODELS: Count(40, 38),
    }
    return Counts(Count(1000, wrong), dict(unsigned), signs)


# Two corpora have seen the same, so that no sign rests on one.
BIRD = make_counts()
del BIRD.signs[DATE]
TABLE = RiskTable({"spider": make_counts(), "bird": BIRD})


def estimate(*signs: Sign, hardness: str | None = None, corpus: str = "mine") -> Risk:
    return TABLE.estimate(corpus, hardness, signs)


def test_question_has_the_base_rate_or_the_risk_that_was_measured_of_its_sign():
    found = estimate()
    assert (found.risk, found.base, found.signs) == (0.1, pytest.approx(0.1), [])
    assert estimate(CROSS).risk == pytest.approx(0.8091, abs=1e-4)  # (160 + 2 * 0.1) / 198
    assert estimate(TIE).risk == pytest.approx(0.203, abs=1e-4)


def test_of_several_signs_of_a_query_the_strongest_counts():
    assert estimate(CROSS, TIE).risk == estimate(TIE, CROSS).risk == estimate(CROSS).risk


def test_agreement_of_models_counts_beside_the_signs_of_the_query():
    alone, both = estimate(MODELS).risk, estimate(MODELS, CROSS).risk
    assert 1 - both == pytest.approx((1 - alone) * (1 - estimate(CROSS).risk) / 0.9, abs=1e-4)


def test_sure_kind_weighs_more_than_a_doubtful_one_and_a_new_kind_as_its_flag():
    unknown = estimate(Sign("comparison_mismatch", "nobody")).risk
    assert unknown == estimate(Sign("comparison_mismatch")).risk
    assert estimate(DOUBTFUL).risk < unknown < estimate(SURE).risk


def test_flag_that_was_seen_once_stays_near_the_base():
    assert 0.1 < estimate(DATE).risk < 0.5


@pytest.mark.parametrize(("questions", "decides"), [(2, False), (3, False), (4, True)])
def test_sign_that_is_always_right_decides_from_four_questions_on(questions, decides):
    """Each question counts once, though it is one of the flag, of its kind and of its repair."""
    sign = Sign("projection_mismatch", "count", "other")
    counts = make_counts()
    counts.signs |= dict.fromkeys(sign.list_cases(), Count(questions, questions))
    found = RiskTable({"spider": counts}).estimate("mine", None, [sign])
    assert (found.risk > 0.65) is decides


@pytest.mark.parametrize("code", ["boolean_answer", "never_seen"])
def test_flag_that_is_seldom_right_or_was_never_measured_counts_nothing(code):
    assert estimate(Sign(code)) == estimate()
    assert estimate(Sign(code), CROSS) == estimate(CROSS)


def test_harder_queries_have_a_higher_base():
    levels = {"easy": Count(900, 45), "extra": Count(100, 55)}
    table = RiskTable({"spider": make_counts(**levels)})
    easy, extra = (table.estimate("mine", level, []) for level in levels)
    assert easy.risk < 0.1 < extra.risk
    assert table.estimate("mine", "extra", [CROSS]).risk > estimate(CROSS).risk


def test_corpus_that_was_judged_has_its_own_base_and_its_own_signs():
    bird = Counts(Count(200, 80), {}, {TIE: Count(100, 95)})
    table = RiskTable({"spider": make_counts(), "bird": bird})
    assert table.estimate("bird", None, []).risk == 0.4
    assert table.estimate("spider", None, []).risk == 0.1
    assert table.estimate("mine", None, []).risk == 0.15
    assert table.estimate("bird", None, [TIE]).risk > table.estimate("spider", None, [TIE]).risk
    # A sign that nobody judged there takes away the share that it takes away elsewhere.
    assert table.estimate("bird", None, [CROSS]).risk > 0.8


def test_evidence_names_base_and_signs_by_strength():
    evidence = estimate(TIE, Sign("boolean_answer"), SURE, CROSS).describe()
    assert (evidence["base"], len(evidence["signs"])) == (0.1, 3)
    assert evidence["signs"][0]["kind"] == "never"
    assert evidence["signs"][1:] == [
        {"code": "cross_join", "precision": 0.8091},
        {"code": "tie_at_limit", "precision": 0.203},
    ]


def test_sign_is_a_flag_that_speaks_of_its_query_with_the_kind_of_its_evidence():
    flags = [{"code": "cross_join", "evidence": {}}]
    flags += [
        {"code": code, "evidence": {"kind": "x"}}
        for code in ("numeric_text_order", *FLAGS.keys() - SIGNS)
    ]
    assert list_signs(flags * 2, []) == [CROSS, Sign("numeric_text_order", "x")]


def test_reading_that_answers_otherwise_is_a_sign_unless_a_flag_names_it():
    evidence = {"kind": "each", "repair": "with_zero_counts", "answers": "other"}
    flags = [{"code": "zero_count_dropped", "evidence": evidence}]
    repairs = [
        {"rule": "with_zero_counts", "answers": "other"},
        {"rule": "any_case", "answers": "other"},
        {"rule": "members_by_key", "answers": "same"},
    ]
    assert list_signs(flags, repairs) == [
        Sign("zero_count_dropped", "each", "other"),
        Sign("reading", "any_case", "other"),
    ]


def test_repair_with_golds_rows_says_nothing_of_the_answer():
    same, other = (Sign("cross_join", None, answers) for answers in ("same", "other"))
    signs = {CROSS: Count(98, 80), same: Count(49, 40), other: Count(49, 40)}
    table = RiskTable({"spider": Counts(Count(1000, 100), {}, signs)})
    risks = Risks(table, table)
    assert risks.estimate_answer("spider", None, [same]).risk == 0.1
    assert risks.estimate_sql("spider", None, [same]).risk > 0.5
    assert risks.estimate_answer("spider", None, [other]).risk > 0.5


def of_corpus(**entries: Any) -> dict[str, Any]:
    table = {"questions": 5, "wrong": 1, "unsigned": {}, "flags": {}, "signs": []} | entries
    return {"spider": {"answers": table, "sql": table}}


def test_tables_have_counts_by_hardness_flag_and_case(tmp_path):
    path = tmp_path / "table.json"
    signs = [
        {"code": "tie_at_limit", "kind": kind, "answers": "other", "questions": 2, "wrong": wrong}
        for kind, wrong in ((None, 0), ("text", 1))
    ]
    write_json(path, of_corpus(unsigned={"easy": {"questions": 5, "wrong": 1}}, signs=signs))
    for table in read_risks(path):
        assert table.corpora == {
            "spider": Counts(
                Count(5, 1),
                {"easy": Count(5, 1)},
                {
                    TIE: Count(4, 1),
                    Sign("tie_at_limit", None, "other"): Count(4, 1),
                    Sign("tie_at_limit", "text", "other"): Count(2, 1),
                },
            )
        }


def test_tables_of_the_project_rank_what_doubts_gold_above_the_base():
    risks = read_risks(FLAG_PRECISION)
    for table in risks:
        assert {"bird", "spider"} <= set(table.corpora)
        doubt = Sign("projection_mismatch")
        easy, bird, doubted = (
            table.estimate(corpus, "easy", signs).risk
            for corpus, signs in (("spider", []), ("bird", []), ("spider", [doubt]))
        )
        assert easy < bird
        assert doubted > 0.5


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"spider": []},
        of_corpus(wrong=0),
        of_corpus(wrong=5),
        of_corpus(signs=None),
        of_corpus(unsigned={"easy": 3}),
        of_corpus(signs=[{"questions": 1, "wrong": 1}]),
    ],
)
def test_file_that_is_no_table_is_named(tmp_path, values):
    path = tmp_path / "table.json"
    write_json(path, values)
    with pytest.raises(InputError, match=r"table.json: expected what benchmarks/gold_flags.py wri"):
        read_risks(path)


def test_missing_table_says_which_param_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"compare_questions\.flag_precision"):
        read_risks(tmp_path / "table.json")


# The flag and the verdict


ONE_SIGN = RiskTable({"x": Counts(Count(1000, 100), {}, {CROSS: Count(98, 80)})})
RISKS = Risks(ONE_SIGN, ONE_SIGN)
CROSS_FLAG = {"code": "cross_join", "evidence": {}}
PARAPHRASE = {"code": "paraphrase_of", "evidence": {}}


def assess(
    question: Question,
    *verdicts: Verdict,
    executed: dict[str, Execution] | None = None,
    min_answer_risk: float = 0.5,
) -> tuple[Question, list[str]]:
    """The assessed question, and the lines of the log; `executed` are queries beside gold."""
    executions = {
        name_pair("ships", question.gold_sql, sql): execution
        for sql, execution in (executed or {}).items()
    }
    assessment = Assessment(RISKS, verdicts, executions, min_answer_risk=min_answer_risk)
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
    found, lines = assess(question, min_answer_risk=0.813)
    assert (found.answer_risk, codes(found)) == (
        0.813,
        ["cross_join", "paraphrase_of", "answer_risk"],
    )
    signs = [{"code": "cross_join", "precision": 0.813}]
    assert found.flags[-1]["evidence"] == {"risk": 0.813, "base": 0.1, "signs": signs}
    assert lines == ["1 question with an answer risk of 0.813 or more"]
    below, _ = assess(question, min_answer_risk=0.814)
    assert (below.answer_risk, below.flags) == (0.813, question.flags)


def test_high_risk_without_a_strong_sign_is_no_flag():
    bird = Counts(Count(100, 80), {}, {CROSS: Count(98, 80)})
    assessment = Assessment(Risks(*[RiskTable({"bird": bird})] * 2), [], {}, min_answer_risk=0.5)
    found = assessment.assess(ask(flags=[CROSS_FLAG]))
    assert (found.answer_risk > 0.8, codes(found)) == (True, ["cross_join"])


def test_question_without_answer_has_no_risk_and_no_flags():
    found, _ = assess(ask(answer_type=None), judge("wrong"))
    assert (found.answer_risk, found.flags) == (None, [])


@pytest.mark.parametrize(("verdict", "risk"), [("right", 0.0), ("wrong", 1.0)])
def test_verdict_goes_before_what_flags_say(verdict, risk):
    found, lines = assess(ask(flags=[CROSS_FLAG]), judge(verdict))
    assert (found.answer_risk, codes(found)) == (risk, ["cross_join", f"judged_{verdict}"])
    assert found.flags[1]["evidence"]["source"] == "person:kim"
    assert lines[1:] == ["1 verdict, 0 verdicts of other databases"]


def test_verdict_about_other_gold_is_void_and_said_so():
    found, lines = assess(ask(flags=[CROSS_FLAG]), judge("right", "SELECT 2"))
    assert (found.answer_risk, codes(found)) == (0.813, ["cross_join", "answer_risk"])
    assert lines[1:] == [
        "0 verdicts, 0 verdicts of other databases",
        "1 void verdict, of texts and gold SQL that no question has now: data/verdicts/kim.jsonl:1",
    ]


@pytest.mark.parametrize("field", ["question_text", "gold_sql"])
def test_verdict_about_what_a_correction_replaced_is_not_void(field):
    source = {"corpus": "x", "correction": {"original": {field: "as it was"}}}
    about = {"question_text": "How many?", "gold_sql": "SELECT 1"} | {field: "as it was"}
    found, lines = assess(ask(source=source, flags=[CROSS_FLAG]), judge("wrong", **about))
    assert (found.answer_risk, codes(found)) == (0.813, ["cross_join", "answer_risk"])
    assert lines[1:] == ["1 verdict, 0 verdicts of other databases"]


def test_verdict_names_a_database_as_its_corpus_or_the_dataset_does():
    here = ask(database_name="fleet_ships", source={"corpus": "x", "db_id": "ships"})
    for name in ("ships", "fleet_ships"):
        found, lines = assess(here, judge("right", database_name=name))
        assert (codes(found), lines[1:]) == (
            ["judged_right"],
            ["1 verdict, 0 verdicts of other databases"],
        )


def test_verdict_about_a_database_that_is_not_here_is_not_void():
    _, lines = assess(ask(), judge("right", database_name="planes"))
    assert lines[1:] == ["0 verdicts, 1 verdict of other databases"]


HASHED = {"question_text": None, "gold_sql": None, "file": "dev.json", "index": 0}


@pytest.mark.parametrize(
    ("answer", "said", "holds"),
    [
        (7, {}, True),
        (0, {}, False),
        ([], {}, False),
        ([[None, 0]], {}, False),
        (0, {"void": True}, True),
        (7, {"void": True}, False),
        (["Sun"], {"void": False}, True),
    ],
)
def test_verdict_by_a_hash_holds_where_gold_answers_as_much_as_it_did(answer, said, holds):
    sha256 = hash_question("How many?", "SELECT 1")
    verdict = judge("right", **HASHED, sha256=sha256, **said)
    found, lines = assess(ask(gold_answer=answer), verdict)
    assert codes(found) == ["judged_right" if holds else "unconfirmed"]
    assert (found.answer_risk == 0.0) is holds
    assert any("1 verdict not taken" in line for line in lines) is not holds


@pytest.mark.parametrize("answer", [0, [], None])
def test_verdict_that_quotes_its_question_holds_whatever_gold_answers(answer):
    found, _ = assess(ask(gold_answer=answer), judge("right"))
    assert codes(found) == ["judged_right"]


def test_query_of_a_verdict_that_was_not_executed_is_believed():
    found, _ = assess(ask(gold_answer=7), judge("wrong", sql="SELECT 2", answers="same"))
    assert codes(found) == ["judged_wrong_sql"]
