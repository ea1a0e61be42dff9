"""dataset: a good dataset passes, and each way of breaking it is found, and only that."""

from __future__ import annotations

import contextlib
import copy
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerkey.sections.select_questions import Targets
from answerkey.validation.dataset import validate_dataset
from answerkey.validation.facts import RULE_OF_TABLES

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


@pytest.fixture
def db_paths(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name in ("harbour", "library"):
        paths[name] = tmp_path / f"{name}.sqlite"
        with contextlib.closing(sqlite3.connect(paths[name])) as connection:
            connection.executescript(SCHEMA)
    return paths


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


def drop_field(dataset: Dataset) -> None:
    del dataset[0]["split"]


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
        drop_field,
        "harbour_train_000: fields: expected question_id, question_text, database_name, gold_sql,"
        " gold_answer, answer_type, difficulty, tables_involved, split, found question_id,"
        " question_text, database_name, gold_sql, gold_answer, answer_type, difficulty,"
        " tables_involved",
    ),
    (
        edit("difficulty", "extra"),
        "harbour_train_000: difficulty: expected one of easy, medium, hard, found 'extra'",
    ),
    (
        edit("difficulty", "medium"),
        "harbour_train_000: difficulty: expected easy, by the rule of difficulty, found medium",
    ),
    (
        edit("question_id", "harbour_train_0"),
        "harbour_train_0: question_id: expected harbour_train_ and three digits or more",
    ),
    (repeat, "harbour_train_001: question_id: expected once, found 2 times"),
    (
        edit("question_text", "WHAT is number 1", number=3),
        "harbour_train_003: question_text: expected once on a database, found as that of"
        " harbour_train_001 too",
    ),
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
        edit("answer_type", "float", number=2),
        "harbour_train_002: answer_type: expected integer for this answer, found 'float'",
    ),
    (
        edit("tables_involved", ["ship", "port"]),
        "harbour_train_000: tables_involved: expected sorted, unique names, found ['ship', 'port']",
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
        "harbour_train_000: gold_sql: SQL execution failed for harbour: DELETE ship refused",
    ),
    (
        use_missing_database,
        "club: expected its path, found none among 2 paths; asked by 5 of the questions",
    ),
]


def test_good_dataset_has_no_errors(db_paths):
    assert validate_dataset(make_dataset(), db_paths) == []


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_each_fault_is_the_one_that_is_found(db_paths, change, message):
    dataset = make_dataset()
    change(dataset)
    assert validate_dataset(dataset, db_paths, targets=None) == [message]


def test_shares_of_the_contract_are_checked_where_nobody_says_otherwise(db_paths):
    dataset = [question for question in make_dataset() if question["difficulty"] != "medium"]
    errors = validate_dataset(dataset, db_paths)
    assert {error.split()[1].rstrip(":") for error in errors} == {"easy", "medium", "hard"}
    assert all(error.startswith("difficulty") for error in errors)
    assert validate_dataset(dataset, db_paths, targets=None) == []


def test_dataset_is_not_changed(db_paths):
    dataset = make_dataset()
    before = copy.deepcopy(dataset)
    validate_dataset(dataset, db_paths, targets=Targets(eval_share=0.9))
    assert dataset == before


def test_order_of_rows_counts_where_it_is_said_to(db_paths):
    dataset = make_dataset()
    dataset[1]["gold_answer"].reverse()
    assert validate_dataset(dataset, db_paths, order_matters={"harbour_train_001": False}) == []
    (error,) = validate_dataset(make_dataset(), db_paths, order_matters={"harbour_train_000": True})
    assert error.startswith("harbour_train_000: gold_answer: expected what gold SQL returns")


def test_texts_that_come_again_pass_where_they_may(db_paths):
    dataset = make_dataset()
    dataset[3]["question_text"] = dataset[1]["question_text"]
    assert validate_dataset(dataset, db_paths, has_unique_texts=False) == []


def test_difficulty_follows_from_the_rule_that_is_given(db_paths):
    dataset = make_dataset()
    rule = replace(RULE_OF_TABLES, easy_max_tables=0, medium_max_tables=1)
    errors = validate_dataset(dataset, db_paths, rule=rule)
    assert len(errors) == 8
    assert errors[0] == (
        "harbour_train_000: difficulty: expected medium, by the rule of difficulty, found easy"
    )


def test_targets_are_checked_where_they_are_given(db_paths):
    targets = Targets(eval_share=0.3, tolerance=0.02, min_questions=19)
    assert validate_dataset(make_dataset(), db_paths, targets=targets) == [
        "size: expected at least 19, found 10",
        "split eval: expected a share of 0.3 within 0.02, found 0.5000 (5 of 10)",
    ]


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


def test_missing_file_is_one_error_for_all_its_questions(db_paths):
    db_paths["library"].unlink()
    (error,) = validate_dataset(make_dataset(), db_paths)
    assert error.startswith("library: expected a database at ")
    assert error.endswith(": run `dvc pull`; asked by 5 of the questions")
