"""Sidecars are about the same questions, each loaded one once, and each record adds up."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerkey.sqlite.guard import Limits
from answerkey.validation.sidecars import (
    check_audit,
    check_conservation,
    check_gold_risk,
    check_pass_rate,
    check_records,
    check_sidecars,
    check_suite,
    check_suite_answers,
)
from tests.shared.databases import make_database

ASKED = [{"question_id": "a_train_000", "database_name": "a"}]
TERMS = {"max_steps": 10**6, "rule": "strict", "flags": [], "gold_risk": None}
AUDITED = [{"question_id": "a_train_000", "database_sha256": "11", **TERMS}]
SUITES = [
    {
        "question_id": "a_train_000",
        "mutation_score": None,
        "operators": {},
        "alive": [],
        "databases": [],
    }
]


@pytest.mark.parametrize(
    ("audit", "excluded", "hashes", "messages"),
    [
        (AUDITED, [], {"a": "11"}, []),
        (
            AUDITED,
            [],
            {"a": "22"},
            [
                "a: database_sha256: expected 11, as audit.jsonl has it for 1 of the questions,"
                " found 22"
            ],
        ),
        (
            AUDITED,
            [],
            {},
            [
                "a: database_sha256: expected 11, as audit.jsonl has it for 1 of the questions,"
                " found none"
            ],
        ),
        (AUDITED, [], {"a": None}, []),
        ([], [], {"a": "11"}, ["a_train_000: audit.jsonl: expected one record, found 0"]),
        (AUDITED * 2, [], {"a": "11"}, ["a_train_000: audit.jsonl: expected one record, found 2"]),
        (
            [*AUDITED, AUDITED[0] | {"question_id": "b_train_000"}],
            [],
            {"a": "11"},
            ["b_train_000: audit.jsonl: expected only questions of the product"],
        ),
        (
            AUDITED,
            [ASKED[0] | TERMS],
            {"a": "11"},
            ["a_train_000: excluded.jsonl: also in the product"],
        ),
    ],
)
def test_sidecars_must_speak_of_the_same_questions(tmp_path, audit, excluded, hashes, messages):
    sidecars = {"audit": audit, "excluded": excluded, "test_suites": SUITES, "pass_rates": []}
    for name, records in sidecars.items():
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    assert check_sidecars(ASKED, tmp_path, hashes) == messages


def test_every_loaded_question_must_be_selected_or_excluded_once():
    def ids(text: str) -> list[dict[str, str]]:
        return [{"question_id": letter} for letter in text]

    assert check_conservation(ids("ab"), ids("c"), ids("abc")) == []
    assert check_conservation(ids("ab"), ids("bd"), ids("abc")) == [
        "b: expected 1 times among selected and excluded questions, as it was loaded,"
        " found 2 times",
        "c: expected 1 times among selected and excluded questions, as it was loaded,"
        " found 0 times",
        "d: expected 0 times among selected and excluded questions, as it was loaded,"
        " found 1 times",
    ]


QUESTION = {"a_train_000": {"gold_answer": ["Sun", "Tern"]}}
NOTHING = {"rows": [["Heron"]], "take": 0}
SEGMENTS = [{"rows": [["Sun"]], "take": 1}, {"rows": [["Kite"], ["Tern"]], "take": 1}]
AUDIT = {
    "question_id": "a_train_000",
    "order_matters": True,
    "max_steps": 1_000_000,
    "rule": "strict",
    "accepted_rows": SEGMENTS,
    "flags": [],
    "gold_risk": None,
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
    errors = check_records("audit.jsonl", [AUDIT | change], QUESTION, check_audit)
    assert len(errors) == (expected is not None)
    assert all(error.startswith(f"a_train_000: audit.jsonl: {expected}") for error in errors)


def test_sidecar_of_an_older_run_is_an_error_and_no_crash():
    assert len(list(check_audit({"question_id": "a_train_000"}, {}))) == 3


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
    found = list(check_gold_risk({"flags": flags, "gold_risk": risk}))
    assert found == ([] if error is None else [error])


def test_record_without_the_field_is_named():
    found = list(check_gold_risk({"flags": []}))
    assert found == [f"{NUMBER}, or null, found no such field"]


MODELS = {
    "a": {"total": 2, "database": 2, "suite": 1},
    "b": {"total": 1, "database": 0, "suite": 0},
}
RATE = {"question_id": "q", "total": 3, "database": 2, "suite": 1, "models": MODELS}
RATED = {"q": {}, "without": {}}


@pytest.mark.parametrize(
    ("rates", "error"),
    [
        ([RATE], None),
        ([RATE, RATE], "expected one record, found 2"),
        ([{**RATE, "question_id": "p"}], "expected only questions of the product"),
        ([{**RATE, "total": 4}], "total: expected 3, the sum of its models, found 4"),
        ([{**RATE, "suite": 3}], "all models: expected counts 0 <= suite <= database <= total"),
        ([{**RATE, "total": 0, "database": 0, "suite": 0, "models": {}}], "all models: expected"),
        ([{"question_id": "q"}], "expected the fields question_id, total, database, suite, models"),
    ],
)
def test_rates_are_of_questions_and_add_up(rates, error):
    found = check_records("pass_rates.jsonl", rates, RATED, check_pass_rate, least=0)
    if error is None:
        assert found == []
    else:
        (message,) = found
        assert message.startswith(f"{rates[0]['question_id']}: pass_rates.jsonl: {error}")


PATH = "data/test_suites/a/a.01.sqlite"
QUESTIONS = [
    {"question_id": "a_train_000", "database_name": "a", "gold_sql": "SELECT id FROM ship"}
]
FATES = {"killed": 3, "alive": 1, "undecided": 7}
SCORE = {"database": 0.5, "suite": 0.75}


def make_database_of_suite(**changes: Any) -> dict[str, Any]:
    known = {"path": PATH, "sha256": "11", "gold_answer": [1, 2], "order_matters": False}
    return known | {"accepted_rows": None, "kill": {}} | changes


def make_suite(**changes: Any) -> dict[str, Any]:
    return {
        "question_id": "a_train_000",
        "mutation_score": SCORE,
        "operators": {"limit": FATES},
        "alive": [],
        "databases": [make_database_of_suite()],
        **changes,
    }


UNDECIDED = {"killed": 0, "alive": 0, "undecided": 2}


def check_all_suites(suites: list[dict[str, Any]]) -> list[str]:
    known = {question["question_id"]: question for question in QUESTIONS}
    check = partial(check_suite, hashes={PATH: "11"})
    return check_records("test_suites.jsonl", suites, known, check)


@pytest.mark.parametrize(
    ("suites", "errors"),
    [
        ([make_suite()], []),
        ([make_suite(operators={"limit": UNDECIDED}, mutation_score=None)], []),
        ([], ["expected one record, found 0"]),
        ([make_suite()] * 2, ["expected one record, found 2"]),
        (
            [make_suite(operators={"limit": {"killed": -1}})],
            ["operators: limit: expected counts of killed, alive, undecided, found {'killed': -1}"],
        ),
        (
            [make_suite(mutation_score=None)],
            ["mutation_score: expected a suite of 0.7500, by operators, found None"],
        ),
        (
            [make_suite(operators={}, mutation_score=SCORE)],
            [f"mutation_score: expected null, since no neighbor counts, found {SCORE}"],
        ),
        (
            [make_suite(mutation_score={"database": 0.8, "suite": 0.75})],
            [
                "mutation_score: expected a database from 0 to that of the suite, found"
                " {'database': 0.8, 'suite': 0.75}"
            ],
        ),
        (
            [make_suite(databases=[make_database_of_suite(path="../a.01.sqlite")])],
            ["path: expected data/test_suites/a/a.NN.sqlite, found '../a.01.sqlite'"],
        ),
        (
            [make_suite(databases=[make_database_of_suite(path=PATH.replace("01", "02"))])],
            ["data/test_suites/a/a.02.sqlite: expected this database, found none: run `dvc pull`"],
        ),
        (
            [make_suite(databases=[make_database_of_suite(sha256="22")])],
            ["data/test_suites/a/a.01.sqlite: expected sha256 22, found 11"],
        ),
        (
            [make_suite(databases=[make_database_of_suite(order_matters=None)])],
            ["order_matters: expected true or false, found None"],
        ),
        ([make_suite(databases=[make_database_of_suite(accepted_rows=[2])])], []),
        (
            [make_suite(databases=[make_database_of_suite(accepted_rows=[1, 2])])],
            ["accepted_rows: expected segments of gold_answer, found [1, 2]"],
        ),
        (
            [{"question_id": "a_train_000"}],
            [
                "expected the fields question_id, mutation_score, operators, alive, databases,"
                " found question_id"
            ],
        ),
    ],
)
def test_suite_must_be_consistent(suites: list[dict[str, Any]], errors: list[str]) -> None:
    found = check_all_suites(suites)
    assert found == [f"a_train_000: test_suites.jsonl: {error}" for error in errors]


def test_suite_of_no_question_is_an_error() -> None:
    suites = [make_suite(), make_suite(question_id="b_train_000")]
    assert check_all_suites(suites) == [
        "b_train_000: test_suites.jsonl: expected only questions of the product"
    ]


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ("(2), (1)", None),
        ("(2), (3)", "gold_answer: expected [2, 3], by gold SQL, found [1, 2]"),
        (None, "gold_answer: gold SQL fails here: "),
    ],
)
def test_gold_sql_must_give_what_the_suite_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str | None, error: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    sql = f"CREATE TABLE ship (id INTEGER PRIMARY KEY); INSERT INTO ship VALUES {rows};"
    make_database(tmp_path / PATH, sql if rows else "CREATE TABLE boat (id);")
    absent = make_database_of_suite(path=PATH.replace("01", "02"))
    suites = [make_suite(databases=[make_database_of_suite(), absent])]
    found = check_suite_answers(QUESTIONS, suites, limits=Limits(), rel_tol=1e-6)
    start = f"a_train_000: test_suites.jsonl: {PATH}: {error}"
    assert [text[: len(start)] for text in found] == ([start] if error else [])
