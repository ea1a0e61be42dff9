"""dataset: a good dataset passes, and each way of breaking it is found, and only that."""

from __future__ import annotations

import contextlib
import copy
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerkey.sections.classify_difficulty import SOURCE, SPIDER, DifficultyRule
from answerkey.sections.select_questions import Targets
from answerkey.validation.checks import Facts, MissingDatabaseError, UnknownFactsError
from answerkey.validation.dataset import validate_dataset
from answerkey.validation.facts import RULE_OF_TABLES, derive_facts
from answerkey.validation.sidecars import Known
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


SQL = """
CREATE TABLE Ship (id INTEGER PRIMARY KEY, name, weight);
INSERT INTO Ship VALUES (1, 'Sun', 4), (2, 'Tern', 7), (3, 'Wren', 7);
CREATE TABLE port (id);
CREATE VIEW heavy AS SELECT * FROM Ship WHERE weight > 5;
"""


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    return make_databases(tmp_path, SQL)


def ask(gold_sql: str, *, name: str = "harbour") -> dict[str, str]:
    return {
        "question_id": f"{name}_train_000",
        "database_name": name,
        "gold_sql": gold_sql,
        "difficulty": "easy",
    }


def find(
    paths: dict[str, Path], gold_sql: str, rule: DifficultyRule = RULE_OF_TABLES, **known: Any
) -> Facts:
    with derive_facts(paths, Known(**known), rule=rule) as look_up:
        return look_up(ask(gold_sql))


@pytest.mark.parametrize(
    ("gold_sql", "tables"),
    [
        ("SELECT name FROM SHIP", ["Ship"]),
        ("SELECT 1", []),
        ("SELECT name FROM heavy WHERE id NOT IN port", ["heavy", "port"]),
        ("WITH port AS (SELECT 1 AS id) SELECT name FROM ship JOIN port USING (id)", ["Ship"]),
    ],
)
def test_tables_are_spelled_as_the_schema_has_them(paths, gold_sql, tables):
    assert find(paths, gold_sql).tables_involved == tables


@pytest.mark.parametrize(
    ("gold_sql", "order"),
    [
        ("SELECT name FROM ship", False),
        ("SELECT name FROM ship ORDER BY name", True),
        ("SELECT name FROM ship ORDER BY weight", [1, 2]),  # two ships weigh 7
        ("SELECT weight FROM ship ORDER BY weight", True),
        ("SELECT name FROM (SELECT name FROM ship ORDER BY name)", False),
    ],
)
def test_order_matters_where_order_by_fixes_it(paths, gold_sql, order):
    assert find(paths, gold_sql).order_matters == order


def test_order_is_what_the_caller_says_it_is(paths):
    gold_sql = "SELECT name FROM ship ORDER BY name"
    assert not find(paths, gold_sql, order_matters={}).order_matters
    assert find(paths, "SELECT 1", order_matters={"harbour_train_000": True}).order_matters


@pytest.mark.parametrize(
    ("count", "difficulty"), [(1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (5, "hard")]
)
def test_difficulty_follows_from_the_number_of_tables(paths, count, difficulty):
    with contextlib.closing(sqlite3.connect(paths["harbour"])) as connection:
        for number in range(count):
            connection.execute(f"CREATE TABLE t{number} (a)")
    tables = ", ".join(f"t{number}" for number in range(count))
    assert find(paths, f"SELECT count(*) FROM {tables}").difficulty == difficulty


def test_difficulty_is_that_of_another_rule(paths):
    values = {name: getattr(RULE_OF_TABLES, name) for name in RULE_OF_TABLES.__slots__}
    spider = type(RULE_OF_TABLES)(**{**values, "method": SPIDER})
    gold_sql = "SELECT name FROM ship EXCEPT SELECT name FROM heavy"
    assert (find(paths, gold_sql).difficulty, find(paths, gold_sql, rule=spider).difficulty) == (
        "easy",
        "hard",
    )
    source = type(RULE_OF_TABLES)(
        **{**values, "method": SOURCE, "source_levels": {"simple": "easy", "moderate": "medium"}}
    )
    words = {"harbour_train_000": "moderate"}
    assert find(paths, gold_sql, rule=source).difficulty == "easy"
    assert find(paths, gold_sql, rule=source, source_difficulties=words).difficulty == "medium"
    with pytest.raises(UnknownFactsError, match="the corpus says 'odd'"):
        find(paths, gold_sql, rule=source, source_difficulties={"harbour_train_000": "odd"})


def test_answer_is_that_of_the_database_that_the_question_names(paths):
    with contextlib.closing(sqlite3.connect(paths["library"])) as connection:
        connection.executescript("INSERT INTO Ship VALUES (4, 'Kite', 1)")
    with derive_facts(paths) as look_up:
        for name, answer in (("harbour", 3), ("library", 4), ("harbour", 3)):
            assert look_up(ask("SELECT count(*) FROM ship", name=name)).answer == answer


@pytest.mark.parametrize(
    ("gold_sql", "message"),
    [
        ("SELECT wage FROM ship", "SQL execution failed for harbour: no such column: wage"),
        ("DELETE FROM ship", "SQL execution failed for harbour: DELETE Ship refused"),
        ("SELECT name FROM ship WHERE id IN (1, 2) COLLATE nocase", "Line 1"),
        (
            "WITH a0 AS (SELECT name FROM ship)"
            + "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(600))
            + " SELECT name FROM a600 ORDER BY name",
            "more than 2000 tokens",
        ),
    ],
)
def test_query_that_does_not_run_or_parse_is_told(paths, gold_sql, message):
    with pytest.raises(UnknownFactsError, match=re.escape(message)):
        find(paths, gold_sql)


def test_database_without_a_path_or_a_file_is_told(paths, tmp_path):
    with derive_facts(paths | {"gone": tmp_path / "gone.sqlite"}) as look_up:
        with pytest.raises(MissingDatabaseError, match="club: expected its path, found none"):
            look_up(ask("SELECT 1", name="club"))
        with pytest.raises(MissingDatabaseError, match=r"gone: expected a database at .*gone\.sq"):
            look_up(ask("SELECT 1", name="gone"))
        assert look_up(ask("SELECT count(*) FROM ship")).answer == 3


def test_file_that_is_no_database_is_an_error_of_sqlite(paths):
    paths["harbour"].write_bytes(b"not a database " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        find(paths, "SELECT 1")
