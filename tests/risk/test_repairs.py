"""`answerkey repairs` and `answerkey explain ID`: what is doubted, in words."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.paths import REPAIRS
from answerkey.base.records import write_jsonl
from answerkey.command import main
from answerkey.doubts.catalogue import DOUBTS
from answerkey.risk.explanations import SENTENCES, explain_question
from answerkey.risk.repairs import record_repairs, sort_by_risk
from tests.shared.joined_questions import make_joined

GROUPED = {
    "rule": "grouped_by_key",
    "sql": "SELECT name, count(*) FROM ship GROUP BY id",
    "answers": "other",
    "gold_rows": [["Sun", 2]],
    "repair_rows": [["Sun", 1], ["5", None]],
    "difference": {
        "differs": "rows",
        "counts": [1, 7],
        "lacking": [1, 5],
        "times": [[[1, 0]], [[0, 2], [0, 1]]],
    },
}
ANY_CASE = {"rule": "any_case", "sql": "SELECT 2", "answers": "same"}
TOGETHER = {**GROUPED, "rule": "grouped_by_key+any_case"}
REORDERED = {
    "rule": "direction_mismatch",
    "sql": "SELECT 3",
    "answers": "other",
    "gold_rows": [["Sun", 2], ["Tern", 2]],
    "repair_rows": [["Tern", 2], ["Sun", 2]],
    "difference": {"differs": "order", "counts": [5, 5], "lacking": [0, 0], "from_row": 4},
}
FLAGS = [
    {
        "code": "group_by_non_key",
        "evidence": {"repair": "grouped_by_key", "answers": "other", "column": "ship.name"},
    }
]


def make_question(name: str, risks: tuple[float, float], *repairs: dict[str, Any]) -> Any:
    return make_joined(
        name,
        database_name="fleet",
        split="train",
        question_text="How many ships\nhave each name?",
        gold_sql="SELECT name, count(*) FROM ship GROUP BY name",
        answer_risk=risks[0],
        sql_risk=risks[1],
        flags=FLAGS,
        repairs=list(repairs),
    )


QUESTIONS = [
    make_question("a", (0.2, 0.9), ANY_CASE),
    make_question("b", (0.8, 0.8), GROUPED, ANY_CASE),
    make_question("c", (0.2, 0.3), REORDERED),
    make_question("d", (0.9, 0.9)),
    make_joined("e", flags=[]),
]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").touch()
    records = [record for each in QUESTIONS if (record := record_repairs(each)) is not None]
    write_jsonl(REPAIRS, sort_by_risk(records))
    return tmp_path


def list_ids(capsys: pytest.CaptureFixture[str], *options: str) -> list[str]:
    assert main(["repairs", "--json", *options]) == 0
    return [json.loads(line)["question_id"] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("listed")
def test_questions_with_repairs_stand_by_risk(capsys: pytest.CaptureFixture[str]) -> None:
    assert list_ids(capsys) == ["b", "a", "c"]
    assert list_ids(capsys, "--sql") == ["a", "b", "c"]
    assert list_ids(capsys, "--limit", "1") == ["b"]
    assert list_ids(capsys, "--limit", "0") == []


@pytest.mark.usefixtures("listed")
def test_list_says_what_differs_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repairs", "--limit", "2"]) == 0
    said = capsys.readouterr().out
    assert said == (
        "b: answer_risk 0.80, sql_risk 0.80\n"
        "  question    How many ships have each name?\n"
        "  gold        SELECT name, count(*) FROM ship GROUP BY name\n"
        "  repair      SELECT name, count(*) FROM ship GROUP BY id\n"
        "  reason      Rows are grouped by a column that different things share, such as a name."
        " (group_by_non_key, grouped_by_key)\n"
        "  answers     The answers differ: gold has 1 row, the other 7; in gold alone 1, in the"
        " other 5.\n"
        '  only gold   ["Sun", 2]: 1 in gold, 0 in the other\n'
        '  only repair ["Sun", 1]: 0 in gold, 2 in the other\n'
        '              ["5", null]: 0 in gold, 1 in the other\n'
        "              and 3 more rows\n"
        "  1 more repair: answerkey explain b\n"
        "\n"
        "a: answer_risk 0.20, sql_risk 0.90\n"
        "  question    How many ships have each name?\n"
        "  gold        SELECT name, count(*) FROM ship GROUP BY name\n"
        "  repair      SELECT 2\n"
        f"  reason      {SENTENCES['any_case']} (any_case)\n"
        "  answers     Both give the same answer here: gold SQL is in doubt, and not the"
        " answer.\n"
    )


@pytest.mark.usefixtures("listed")
def test_other_order_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repairs"]) == 0
    said = capsys.readouterr().out
    assert "The answers differ: the same 5 rows, in another order from row 4 on.\n" in said
    assert '  gold rows   ["Sun", 2]\n              ["Tern", 2]\n  repair rows ["Tern"' in said


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    "repair", [{**GROUPED, "rule": "a_rule_that_went"}, {**GROUPED, "difference": None}]
)
def test_list_of_another_version_is_told(
    repair: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name: value for name, value in repair.items() if value is not None}
    write_jsonl(REPAIRS, [QUESTIONS[1]._asdict() | {"repairs": [known]}])
    with pytest.raises(SystemExit):
        main(["repairs"])
    assert capsys.readouterr().err.endswith("of another version of Answerkey; run `dvc repro`\n")


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize("number", ["-1", "many", "1.5"])
def test_limit_is_a_whole_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["repairs", f"--limit={number}"])
    assert f"expected a whole number from 0, found '{number}'" in capsys.readouterr().err


def test_two_rules_that_were_tried_together_say_two_reasons() -> None:
    said = explain_question(make_question("f", (0.5, 0.5), TOGETHER), None)
    sentences = f"{SENTENCES['group_by_non_key']} {SENTENCES['any_case']}"
    assert f"{sentences} (group_by_non_key, any_case, grouped_by_key+any_case)\n" in said


def test_question_without_repairs_is_not_listed() -> None:
    assert [record_repairs(each) for each in QUESTIONS[3:]] == [None, None]


def test_flags_of_the_list_are_brief() -> None:
    record = record_repairs(QUESTIONS[1])
    assert record is not None
    evidence = {"repair": "grouped_by_key", "answers": "other"}
    assert record["flags"] == [{"code": "group_by_non_key", "evidence": evidence}]


def test_each_rule_of_a_repair_has_a_sentence() -> None:
    readings = {name for doubt in DOUBTS for name in doubt.readings}
    assert readings <= set(SENTENCES)


def test_question_is_explained_with_both_risks_and_all_repairs() -> None:
    why = ("audit_gold_answers", "answer_risk", "")
    said = explain_question(QUESTIONS[1], why)
    assert said.startswith(
        "b: left out: answer_risk\n  question    How many ships have each name?\n"
    )
    assert "  answer_risk 0.80, how likely the answer is not what the question asks\n" in said
    assert "  sql_risk    0.80, how likely gold SQL does not say what" in said
    assert said.count("  repair   ") == 2
    assert "answer_risk none: it has no answer" in explain_question(QUESTIONS[4], None)


def test_rows_of_repairs_that_answer_alike_are_told_once() -> None:
    said = explain_question(make_question("f", (0.5, 0.5), GROUPED, TOGETHER, ANY_CASE), None)
    assert said.count("only gold") == 1
    assert "  answers     The same rows as grouped_by_key.\n" in said


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("5", '  answer      ["5"]\n  answer_risk'),
        (5, "  answer      [5]\n  answer_risk"),
        ([], "  answer      no row\n"),
        ([["NULL", None]], '  answer      ["NULL", null]\n'),
        ([*range(9)], "              [5]\n              and 3 more rows\n"),
        ("x" * 900, f'  answer      ["{"x" * 498} ...\n'),
    ],
)
def test_answer_is_explained_as_json(answer: Any, told: str) -> None:
    question = make_question("f", (0.5, 0.5), ANY_CASE)
    assert told in explain_question(question._replace(gold_answer=answer, answer_type="list"), None)


def test_verdict_is_explained_with_the_sql_that_is_asked() -> None:
    evidence = {"reason": "Names.", "source": "model:x", "date": "2026-03-01", "sql": "SELECT n"}
    question = make_question("f", (1.0, 1.0), ANY_CASE)
    flags = [{"code": "judged_wrong", "evidence": evidence}]
    said = explain_question(question._replace(flags=flags), None)
    assert re.search(r"judged +.*Names.*\n {14}SELECT n\n", said)


def test_question_of_another_dialect_is_explained_with_both_sides() -> None:
    evidence = {
        "dialect": "postgres",
        "source_sql": "SELECT name FROM ship WHERE name LIKE 's%'",
        "detail": "0 rows there, 1 here",
        "there": [],
        "here": [["Sun"]],
    }
    flags = [{"code": "dialect_differs", "evidence": evidence}]
    question = make_joined("a", question_text="Which?", gold_sql="SELECT 1", flags=flags)
    said = explain_question(question, ("audit_gold_answers", "dialect_differs", "")).splitlines()
    assert said[0] == "a: left out: dialect_differs"
    weighed = question._replace(answer_type="integer", answer_risk=0.01, sql_risk=0.02)
    left_out = explain_question(weighed, ("audit_gold_answers", "dialect_differs", ""))
    assert "0.01" not in left_out
    assert "0.01" in explain_question(weighed, None)
    assert said[-4:] == [
        "  postgres    SELECT name FROM ship WHERE name LIKE 's%'",
        "  differs     0 rows there, 1 here",
        "  there       []",
        '  here        [["Sun"]]',
    ]


def test_what_somebody_decided_is_explained_with_the_reason_and_who_it_was() -> None:
    who = {"source": "person:kim", "date": "2026-03-01"}
    judged = {"code": "judged_right", "evidence": {"reason": "Seen.", **who}}
    correction = {"action": "replace", "reason": "So.", "link": None}
    source = {"corpus": "x", "correction": correction | {"original": {"gold_sql": "SELECT 2"}}}
    question = make_joined("a", question_text="Which?", flags=[judged], source=source)
    assert explain_question(question, None).splitlines()[-3:] == [
        "  judged      Seen. (person:kim 2026-03-01)",
        "  corrected   So.",
        "  before      SELECT 2",
    ]
