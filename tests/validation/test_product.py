"""product: sidecars speak of the same questions and files, and answers are what SQL returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import hash_file
from answerkey.sqlite.guard import Limits
from answerkey.validation.product import check_claims, list_claims
from answerkey.validation.selection import check_sidecars
from tests.shared.databases import make_database

IDS = "SELECT id FROM ship"
QUESTIONS = [{"question_id": "a_train_000", "database_name": "a", "gold_sql": IDS}]
PATH = "data/test_suites/a/a.01.sqlite"
SHIPS = "CREATE TABLE ship (id INTEGER PRIMARY KEY); INSERT INTO ship VALUES (2), (1);"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the product, beside a database and one of a test suite."""
    monkeypatch.chdir(tmp_path)
    make_database(tmp_path / PATH, SHIPS)
    make_database(tmp_path / "data/databases/a/a.sqlite", SHIPS)
    return Path("data/questions")


def write(folder: Path, name: str, *records: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def make_audit(question_id: str = "a_train_000", **known: Any) -> dict[str, Any]:
    return {"question_id": question_id, "database_sha256": "11", **known}


def make_suite(**known: Any) -> dict[str, Any]:
    database = {"path": PATH, "gold_answer": [1, 2], "order_matters": False, "accepted_rows": None}
    return {"question_id": "a_train_000", "databases": [database | known]}


@pytest.mark.parametrize(
    ("audit", "sha256", "errors"),
    [
        ([make_audit()], "11", []),
        ([make_audit()], "22", ["a: database_sha256: expected 11, found 22"]),
        ([], "11", ["a_train_000: audit.jsonl: expected 1 records, found 0"]),
        ([make_audit()] * 2, "11", ["a_train_000: audit.jsonl: expected 1 records, found 2"]),
        (
            [make_audit(), make_audit("b_train_000")],
            "11",
            ["b_train_000: audit.jsonl: expected 0 records, found 1"],
        ),
    ],
)
def test_sidecars_must_speak_of_the_same_questions(folder, audit, sha256, errors):
    write(folder, "audit", *audit)
    write(folder, "test_suites", make_suite(sha256=hash_file(Path(PATH))))
    assert check_sidecars(QUESTIONS, folder, {"a": sha256}) == errors
    assert check_sidecars(QUESTIONS, folder, {}) == [e for e in errors if "sha256" not in e]


@pytest.mark.parametrize(
    ("database", "error"),
    [
        ({"sha256": "22"}, f"{PATH}: expected sha256 22, found "),
        ({"sha256": "22", "path": "data/gone.sqlite"}, "data/gone.sqlite: expected a database of"),
    ],
)
def test_databases_of_suites_are_as_they_were_made(folder, database, error):
    write(folder, "audit", make_audit())
    write(folder, "test_suites", make_suite(**database))
    (found,) = check_sidecars(QUESTIONS, folder, {})
    assert found.startswith(error)


def test_suite_names_no_file_elsewhere(folder):
    write(folder, "audit", make_audit())
    write(folder, "test_suites", make_suite(sha256="1", path="../elsewhere.sqlite"))
    with pytest.raises(ValueError, match="elsewhere"):
        check_sidecars(QUESTIONS, folder, {})


FIRST, LAST = ({"sql": f"{IDS} WHERE id = {n}", "answer": n} for n in (1, 2))
WRONG = LAST | {"answer": 3}


@pytest.mark.parametrize(
    ("audit", "suite", "errors"),
    [
        ({}, {}, []),
        ({}, {"gold_answer": [1, 3]}, [f"{PATH}: expected [1, 2], as '{IDS}' returns, found [1"]),
        ({}, {"gold_answer": [2, 1], "order_matters": True}, [f"{PATH}: expected [1, 2], as "]),
        ({"other_answers": [FIRST, LAST]}, {"other_answers": [LAST]}, []),
        ({"other_answers": [FIRST, WRONG]}, {}, ["data/databases/a/a.sqlite: expected 2, as "]),
        ({}, {"other_answers": [WRONG]}, [f"{PATH}: expected 2, as "]),
        ({}, {"other_answers": [LAST | {"sql": "SELECT"}]}, [f"{PATH}: SQL execution failed"]),
    ],
)
def test_all_answers_must_be_what_their_sql_returns(folder, audit, suite, errors):
    write(folder, "test_suites", make_suite(**suite))
    paths = {"a": Path("data/databases/a/a.sqlite")}
    claims = list_claims(QUESTIONS, [make_audit(**audit)], paths)
    found = check_claims(claims, Limits())
    assert len(found) == len(errors)
    for message, error in zip(found, errors, strict=True):
        assert message.startswith(f"a_train_000: {error}")
