"""dataset: a good dataset passes, and each way of breaking it is found, and only that; sidecars
speak of the same questions and files, and answers are what SQL returns."""

from __future__ import annotations

import copy
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import hash_file
from answerkey.engines.database import Limits
from answerkey.sections.classify_difficulty import PASS_RATE, RANK, SOURCE, SPIDER, DifficultyRule
from answerkey.sections.select_questions import Targets
from answerkey.validation.checks import check_sidecars
from answerkey.validation.dataset import GoldFacts, check_answers, derive_facts, validate_dataset
from tests.shared.databases import make_database

Dataset = list[dict[str, Any]]


SCHEMA = """
CREATE TABLE ship (name, weight);
CREATE TABLE port (town);
CREATE TABLE pier (number);
CREATE TABLE flag (color);
INSERT INTO ship VALUES ('Sun', 1), ('Tern', 2);
INSERT INTO port VALUES ('Cork');
INSERT INTO pier VALUES (7);
INSERT INTO flag VALUES ('red');
"""
# Of five questions, as many of each difficulty as the contract asks for.
QUERIES = [
    ("SELECT name FROM ship", ["Tern", "Sun"], "list"),
    ("SELECT name FROM ship ORDER BY name", ["Sun", "Tern"], "list"),
    ("SELECT sum(weight) FROM ship, port, pier", 3, "integer"),
    ("SELECT name, town, number FROM ship, port, pier", [["Sun", "Cork", 7], ["Tern", "Cork", 7]],
     "table"),
    ("SELECT max(color) FROM ship, port, pier, flag", "red", "string"),
]  # fmt: skip
TABLES = ["flag", "pier", "port", "ship"]


def make_databases(folder: Path, sql: str) -> dict[str, Path]:
    names = ("harbour", "library")
    return {name: make_database(folder / f"{name}.sqlite", sql) for name in names}


@pytest.fixture
def db_paths(tmp_path: Path) -> dict[str, Path]:
    return make_databases(tmp_path, SCHEMA)


def make_dataset() -> Dataset:
    """Five questions of `harbour` in train, and the same of `library` in eval."""
    return [
        {
            "question_id": f"{name}_{split}_{number:03d}",
            "question_text": f"What is number {number}?",
            "database_name": name,
            "gold_sql": sql,
            "gold_answer": copy.deepcopy(answer),
            "answer_type": kind,
            "difficulty": difficulty,
            "tables_involved": [table for table in TABLES if table in sql],
            "split": split,
        }
        for name, split in (("harbour", "train"), ("library", "eval"))
        for number, ((sql, answer, kind), difficulty) in enumerate(
            zip(QUERIES, ["easy", "easy", "medium", "medium", "hard"], strict=True)
        )
    ]


def edit(field: str, value: Any, *, number: int = 0) -> Callable[[Dataset], None]:
    def change(dataset: Dataset) -> None:
        assert dataset[number][field] != value
        dataset[number][field] = value

    return change


def repeat(dataset: Dataset) -> None:
    dataset.append(dataset[1])


def move_to_other_split(dataset: Dataset) -> None:
    dataset[1] |= {"question_id": "harbour_eval_001", "split": "eval"}


def use_missing_database(dataset: Dataset) -> None:
    for number in range(5):
        dataset[5 + number] |= {"database_name": "club", "question_id": f"club_eval_00{number}"}


def test_empty_dataset_is_named_whatever_its_targets() -> None:
    for targets in ({}, {"targets": None}):
        assert validate_dataset([], {}, **targets) == ["dataset: expected questions, found none"]


def test_paths_may_be_text(db_paths: dict[str, Path]) -> None:
    paths = {name: str(path) for name, path in db_paths.items()}
    assert validate_dataset(make_dataset(), paths) == []


BROKEN = [
    (
        edit("difficulty", "medium"),
        "harbour_train_000: difficulty: expected easy, by the rule of difficulty, found medium",
    ),
    (repeat, "harbour_train_001: question_id: expected once, found 2 times"),
    (move_to_other_split, "harbour: split: expected one split a database, found eval, train"),
    (
        edit("gold_answer", 4, number=2),
        "harbour_train_002: gold_answer: expected what gold SQL returns, 3, found 4",
    ),
    (
        edit("gold_answer", ["Sun"]),
        "harbour_train_000: gold_answer: expected what gold SQL returns, ['Sun', 'Tern'],"
        " found ['Sun']",
    ),
    (
        edit("gold_answer", ["Tern", "Sun"], number=1),
        "harbour_train_001: gold_answer: expected what gold SQL returns, ['Sun', 'Tern'],"
        " found ['Tern', 'Sun']",
    ),
    (
        edit("tables_involved", ["port", "ship"]),
        "harbour_train_000: tables_involved: expected what gold SQL reads, ['ship'], found"
        " ['port', 'ship']",
    ),
    (
        edit("gold_sql", "SELECT wage FROM ship"),
        "harbour_train_000: gold_sql: SQL execution failed for harbour: no such column: wage",
    ),
    (
        edit("gold_sql", "DELETE FROM ship"),
        "harbour_train_000: gold_sql: SQL execution failed for harbour: it does more than read:"
        " ship",
    ),
    (
        use_missing_database,
        "club: expected a database at None: run `dvc pull`; asked by 5 of the questions",
    ),
]


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_each_fault_is_the_one_that_is_found(db_paths, change, message):
    dataset = make_dataset()
    change(dataset)
    assert validate_dataset(dataset, db_paths, targets=None) == [message]


def test_shares_of_the_contract_are_checked_where_nobody_says_otherwise(db_paths):
    dataset = [question for question in make_dataset() if question["difficulty"] != "medium"]
    errors = validate_dataset(dataset, db_paths)
    assert [error.partition(":")[0] for error in errors] == [
        "share of easy",
        "share of medium",
        "share of hard",
    ]
    assert validate_dataset(dataset, db_paths, targets=None) == []


def test_dataset_is_not_changed(db_paths):
    dataset = make_dataset()
    before = copy.deepcopy(dataset)
    validate_dataset(dataset, db_paths, targets=Targets(eval_share=0.9))
    assert dataset == before


def make_terms(question_id: str, **known: Any) -> dict[str, dict[str, Any]]:
    """The record in audit.jsonl of a question, by its id."""
    record = {"source": {"corpus": "x"}, "order_matters": False, "accepted_rows": None}
    return {question_id: record | known}


def test_order_of_rows_counts_where_it_is_said_to(db_paths):
    dataset = make_dataset()
    dataset[1]["gold_answer"].reverse()
    audit = make_terms("harbour_train_001")
    assert validate_dataset(dataset, db_paths, audit=audit) == []
    audit = make_terms("harbour_train_000", order_matters=True)
    (error,) = validate_dataset(make_dataset(), db_paths, audit=audit)
    assert error.startswith("harbour_train_000: gold_answer: expected what gold SQL returns")


def test_floats_are_compared_within_the_tolerance_of_their_question(tmp_path):
    db_paths = make_databases(tmp_path, SCHEMA.replace("('Sun', 1)", "('Sun', -1.9999999999)"))
    dataset = make_dataset()
    for number in (2, 7):
        dataset[number] |= {"gold_answer": 0.0, "answer_type": "float"}
    left = validate_dataset(dataset, db_paths)
    assert [error.partition(":")[0] for error in left] == [
        "harbour_train_002",
        "library_eval_002",
    ]
    for abs_tol, errors in ((1e-9, left[1:]), (1e-11, left)):
        audit = make_terms("harbour_train_002", abs_tol=abs_tol)
        assert validate_dataset(dataset, db_paths, audit=audit) == errors


def test_errors_of_all_records_are_found_at_once(db_paths):
    dataset = make_dataset()
    dataset[0]["difficulty"] = "extra"
    dataset[1]["gold_answer"] = 4
    dataset[1]["answer_type"] = "integer"
    dataset.append("no record")
    errors = validate_dataset(dataset, db_paths, targets=None)
    assert [error.split(":")[0] for error in errors] == [
        "harbour_train_000",
        "record 10",
        "harbour_train_001",
    ]


def test_corrupt_database_is_an_error_of_sqlite(db_paths):
    db_paths["harbour"].write_bytes(b"nothing like a database" * 100)
    with pytest.raises(sqlite3.Error):
        validate_dataset(make_dataset(), db_paths)


def make_question(gold_sql: str, answer: Any, kind: str, difficulty: str = "easy") -> Dataset:
    return [
        {
            "question_id": "harbour_train_000",
            "question_text": "What?",
            "database_name": "harbour",
            "gold_sql": gold_sql,
            "gold_answer": answer,
            "answer_type": kind,
            "difficulty": difficulty,
            "tables_involved": ["ship"],
            "split": "train",
        }
    ]


NAMES = "SELECT name FROM ship"


@pytest.mark.parametrize(
    ("gold_sql", "stored", "kind", "is_same"),
    [
        ("SELECT count(*) FROM ship", 2.0, "float", False),
        ("SELECT count(*) FROM ship", "2", "string", False),
        ("SELECT avg(weight) FROM ship", 1.5 + 1e-9, "float", True),
        ("SELECT avg(weight) FROM ship", 1.5001, "float", False),
        (NAMES, ["Tern", "Sun"], "list", True),
        (NAMES, [["Sun"], ["Tern"]], "table", False),
        (f"{NAMES} LIMIT 1", ["Sun"], "list", False),
        ("SELECT name, weight FROM ship", [["Tern", 2], ["Sun", 1]], "table", True),
        ("SELECT name FROM ship WHERE 0", [], "list", True),
        ("SELECT max(name) FROM ship WHERE 0", [], "list", False),
        (NAMES, ["x" * 50] * 50, "list", False),
    ],
)
def test_answer_must_be_what_sql_returns(db_paths, gold_sql, stored, kind, is_same):
    errors = validate_dataset(make_question(gold_sql, stored, kind), db_paths, targets=None)
    assert len(errors) == (not is_same)
    for error in errors:
        assert error.startswith("harbour_train_000: gold_answer: expected what gold SQL returns")
        assert len(error) < 500


@pytest.mark.parametrize(
    ("rule", "word", "difficulty"),
    [
        (DifficultyRule(SPIDER), None, "medium"),
        (DifficultyRule(SOURCE), None, "easy"),
        (DifficultyRule(SOURCE), "moderate", "medium"),
        (DifficultyRule(SOURCE), "odd", None),
        (DifficultyRule(PASS_RATE), None, "hard"),
        (DifficultyRule(RANK), None, "hard"),
    ],
)
def test_difficulty_is_that_of_the_rule(db_paths, rule, word, difficulty):
    gold_sql = "SELECT name FROM ship WHERE weight > 1 ORDER BY name"
    question = make_question(gold_sql, "Tern", "string", difficulty or "easy")
    source = {"corpus": "x", "difficulty": word}
    errors = validate_dataset(
        question,
        db_paths,
        targets=None,
        rule=rule,
        audit=make_terms("harbour_train_000", source=source),
        pass_rates={"harbour_train_000": {"suite": 1, "total": 9}},
    )
    assert len(errors) == (difficulty is None)
    assert all("the corpus says 'odd'" in error for error in errors)


SQL = """
CREATE TABLE Ship (id INTEGER PRIMARY KEY, name, weight);
INSERT INTO Ship VALUES (1, 'Sun', 4), (2, 'Tern', 7), (3, 'Wren', 7);
CREATE TABLE port (id);
CREATE VIEW heavy AS SELECT * FROM Ship WHERE weight > 5;
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make_database(tmp_path / "harbour.sqlite", SQL)


def find(path: Path, gold_sql: str) -> GoldFacts:
    with derive_facts(path) as look_up:
        return look_up(gold_sql)


@pytest.mark.parametrize(
    ("gold_sql", "tables"),
    [
        ("SELECT name FROM SHIP", ["Ship"]),
        ("SELECT 1", []),
        ("SELECT name FROM heavy WHERE id NOT IN port", ["heavy", "port"]),
        ("WITH port AS (SELECT 1 AS id) SELECT name FROM ship JOIN port USING (id)", ["Ship"]),
    ],
)
def test_tables_are_spelled_as_the_schema_has_them(path, gold_sql, tables):
    assert find(path, gold_sql).tables_involved == tables


@pytest.mark.parametrize(
    ("gold_sql", "order"),
    [
        ("SELECT name FROM ship", False),
        ("SELECT name FROM ship ORDER BY name", True),
        ("SELECT name FROM ship ORDER BY weight", [1, 2]),  # two ships weigh 7
    ],
)
def test_order_matters_where_order_by_fixes_it(path, gold_sql, order):
    assert find(path, gold_sql).order_matters == order


@pytest.mark.parametrize(
    ("gold_sql", "message"),
    [
        ("SELECT name FROM ship WHERE id IN (1, 2) COLLATE nocase", "Line 1"),
        (
            "WITH a0 AS (SELECT name FROM ship)"
            + "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(600))
            + " SELECT name FROM a600 ORDER BY name",
            "more than 2000 tokens",
        ),
    ],
)
def test_query_that_does_not_parse_is_told(path, gold_sql, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        find(path, gold_sql)


# The product.


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
    audits = {"a_train_000": make_audit(**audit)}
    found = list(check_answers(QUESTIONS, audits, paths, Limits()))
    assert len(found) == len(errors)
    for message, error in zip(found, errors, strict=True):
        assert message.startswith(f"a_train_000: {error}")
