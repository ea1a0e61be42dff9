"""Test suites beside the product: of its questions, consistent, with files that are as told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerkey.sqlite.guard import Limits
from answerkey.validation.sidecars import check_suite_answers, check_suites
from tests.shared.databases import make_database

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


NOTHING = {"killed": 0, "alive": 0, "undecided": 2}


@pytest.mark.parametrize(
    ("suites", "errors"),
    [
        ([make_suite()], []),
        ([make_suite(operators={"limit": NOTHING}, mutation_score=None)], []),
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
    found = check_suites(QUESTIONS, suites, {PATH: "11"})
    assert found == [f"a_train_000: test_suites.jsonl: {error}" for error in errors]


def test_suite_of_no_question_is_an_error() -> None:
    suites = [make_suite(), make_suite(question_id="b_train_000")]
    assert check_suites(QUESTIONS, suites, {PATH: "11"}) == [
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
