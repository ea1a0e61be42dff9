"""validate_dataset: a good dataset passes, and each way of breaking it is found, and only that."""

from __future__ import annotations

import contextlib
import copy
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stages.selection.targets import Targets
from stages.validate_dataset import main, validate_dataset
from tests.worlds import World

Dataset = list[dict[str, Any]]


@pytest.fixture
def db_paths(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name in ("harbour", "library"):
        paths[name] = tmp_path / f"{name}.sqlite"
        with contextlib.closing(sqlite3.connect(paths[name])) as connection:
            connection.executescript(
                "CREATE TABLE ship (name, weight); INSERT INTO ship VALUES ('Sun', 1), ('Tern', 2);"
            )
    return paths


def make_dataset() -> Dataset:
    def record(number: int, split: str, name: str, sql: str, answer: Any, kind: str) -> dict:
        return {
            "question_id": f"{name}_{split}_{number:03d}",
            "question_text": "What is it?",
            "database_name": name,
            "gold_sql": sql,
            "gold_answer": answer,
            "answer_type": kind,
            "difficulty": "easy",
            "tables_involved": ["ship"],
            "split": split,
        }

    return [
        record(0, "train", "harbour", "SELECT name FROM ship", ["Tern", "Sun"], "list"),
        record(1, "train", "harbour", "SELECT sum(weight) FROM ship", 3, "integer"),
        record(
            0,
            "eval",
            "library",
            "SELECT name, weight FROM ship WHERE weight = 2",
            [["Tern", 2]],
            "table",
        ),
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
    dataset[1] |= {"question_id": "harbour_eval_000", "split": "eval"}


def use_missing_database(dataset: Dataset) -> None:
    dataset[2] |= {"database_name": "club", "question_id": "club_eval_000"}


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
        edit("question_id", "harbour_train_0"),
        "harbour_train_0: question_id: expected harbour_train_ and three digits or more",
    ),
    (repeat, "harbour_train_001: question_id: expected once, found 2 times"),
    (move_to_other_split, "harbour: split: expected one split a database, found eval, train"),
    (
        edit("gold_answer", 4, number=1),
        "harbour_train_001: gold_answer: expected what gold SQL returns, 3, found 4",
    ),
    (
        edit("gold_answer", ["Sun"]),
        "harbour_train_000: gold_answer: expected what gold SQL returns, ['Sun', 'Tern'],"
        " found ['Sun']",
    ),
    (
        edit("answer_type", "float", number=1),
        "harbour_train_001: answer_type: expected integer for this answer, found 'float'",
    ),
    (
        edit("tables_involved", ["ship", "port"]),
        "harbour_train_000: tables_involved: expected sorted, unique names, found ['ship', 'port']",
    ),
    (
        edit("gold_sql", "SELECT wage FROM ship"),
        "harbour_train_000: gold_sql: SQL execution failed for harbour: no such column: wage",
    ),
    (
        edit("gold_sql", "DELETE FROM ship"),
        "harbour_train_000: gold_sql: SQL execution failed for harbour: DELETE ship refused",
    ),
    (use_missing_database, "club_eval_000: gold_sql: no database club among 2 paths"),
]


def test_good_dataset_has_no_errors(db_paths):
    assert validate_dataset(make_dataset(), db_paths) == []
    assert validate_dataset([], {}) == []


@pytest.mark.parametrize(("change", "message"), BROKEN)
def test_each_fault_is_the_one_that_is_found(db_paths, change, message):
    dataset = make_dataset()
    change(dataset)
    assert validate_dataset(dataset, db_paths) == [message]


def test_dataset_is_not_changed(db_paths):
    dataset = make_dataset()
    before = copy.deepcopy(dataset)
    validate_dataset(dataset, db_paths, targets=Targets(eval_share=0.9))
    assert dataset == before


def test_order_of_rows_counts_only_where_it_is_said_to(db_paths):
    dataset = make_dataset()
    assert validate_dataset(dataset, db_paths, order_matters={"harbour_train_000": False}) == []
    (error,) = validate_dataset(dataset, db_paths, order_matters={"harbour_train_000": True})
    assert error.startswith("harbour_train_000: gold_answer: expected what gold SQL returns")


def test_targets_are_checked_where_they_are_given(db_paths):
    targets = Targets(eval_share=0.5, tolerance=0.02, min_questions=9)
    assert validate_dataset(make_dataset(), db_paths, targets=targets) == [
        "size: expected at least 9, found 3",
        "split eval: expected a share of 0.5 within 0.02, found 0.3333 (1 of 3)",
    ]


def test_errors_of_all_records_are_found_at_once(db_paths):
    dataset = make_dataset()
    dataset[0]["difficulty"] = "extra"
    dataset[1]["gold_answer"] = 4
    dataset.append("no record")
    errors = validate_dataset(dataset, db_paths)
    assert [error.split(":")[0] for error in errors] == [
        "harbour_train_000",
        "record 3",
        "harbour_train_001",
    ]


def test_corrupt_database_is_an_error_of_sqlite(db_paths):
    db_paths["harbour"].write_bytes(b"nothing like a database" * 100)
    with pytest.raises(sqlite3.Error):
        validate_dataset(make_dataset(), db_paths)


def test_missing_file_is_told_for_its_questions(db_paths):
    db_paths["library"].unlink()
    (error,) = validate_dataset(make_dataset(), db_paths)
    assert error.startswith("library_eval_000: gold_sql: No database at")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose product is built."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.run_to("export_dataset")
    return world


def fail(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines that a run prints that ends with 1."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(*arguments)
    assert caught.value.code == 1
    return capsys.readouterr().err.splitlines()


def edit_lines(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_pipeline_writes_down_that_there_are_no_errors(world):
    assert world.json("data/interim/validation.json") == {"errors": []}


def test_pipeline_fails_with_every_error_listed(world, capsys):
    questions = Path("data/interim/selection/questions.jsonl")
    edit_lines(questions, '"difficulty": "easy"', '"difficulty": "simple"')
    edit_lines(questions, '"ship"]', '"ship", "boat"]')
    lines = fail(capsys)
    assert lines[0].startswith("validate_dataset: Validation failed with ")
    count = int(lines[0].split()[-2])
    assert len(lines) == count + 1
    text = "\n".join(lines)
    assert "difficulty: expected one of easy, medium, hard, found 'simple'" in text
    assert "tables_involved: expected sorted, unique names, found ['ship', 'boat']" in text


def test_dataset_that_failed_is_not_exported(world, capsys):
    questions = Path("data/interim/selection/questions.jsonl")
    edit_lines(questions, '"difficulty": "easy"', '"difficulty": "simple"')
    fail(capsys)
    with pytest.raises(ValueError, match="expected none"):
        world.run("export_dataset")


def test_answer_that_was_never_executed_fails_in_the_pipeline(world, capsys):
    edit_lines(Path("data/interim/selection/questions.jsonl"), "weight > 10", "weight > 11")
    lines = fail(capsys)
    assert lines == [
        "validate_dataset: Validation failed with 1 errors",
        "harbour_train_000: gold_sql: not the SQL or the database that was executed",
    ]


def test_questions_out_of_order_fail_in_the_pipeline(world, capsys):
    path = Path("data/interim/selection/questions.jsonl")
    first, second, *others = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([second, first, *others]), encoding="utf-8")
    lines = fail(capsys)
    assert "harbour_train_000: gold_sql: never executed, or out of order" in lines


def test_lost_question_fails_in_the_pipeline(world, capsys):
    path = Path("data/interim/selection/excluded.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]), encoding="utf-8")
    assert fail(capsys)[1:] == [
        "harbour_train_025: expected 1 times among selected and excluded questions, as it was"
        " loaded, found 0 times"
    ]


def test_changed_database_fails_in_the_pipeline(world, capsys):
    path = Path("data/databases/manifest.json")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["databases"]["library"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")
    lines = fail(capsys)
    assert len(lines) == 11
    assert all("database_sha256: expected" in line for line in lines[1:])


def test_product_validates_itself_with_nothing_else_there(world, capsys):
    for path in sorted(Path("data/interim").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    Path("data/databases/manifest.json").unlink()
    capsys.readouterr()
    main("--validate")
    assert capsys.readouterr().err == "validate_dataset: no errors\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Dunes"', '"Tunes"', "gold_answer: expected what gold SQL returns"),
        ('"answer_type": "list"', '"answer_type": "lisp"', "answer_type: expected one of"),
        ('"split": "eval"', '"split": "evil"', "split: expected eval, found 'evil'"),
        ('"database_name": "library"', '"database_name": "librarx"', "expected librarx_eval_"),
        ("book.pages > 90", "book.pages > 9x", "gold_sql: SQL execution failed for library"),
        ('"question_id"', '"question_if"', "fields: expected question_id"),
        ("[\n{", "[\n[", "questions_eval.json: not JSON"),
    ],
)
def test_changed_byte_of_the_product_is_found(world, capsys, old, new, message):
    edit_lines(Path("data/questions/questions_eval.json"), old, new)
    lines = fail(capsys, "--validate")
    assert lines[0].startswith("validate_dataset: Validation failed with ")
    assert any(message in line for line in lines[1:])


def test_product_that_is_no_array_of_records_is_told(world, capsys):
    path = Path("data/questions/questions_eval.json")
    records = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    path.write_text(json.dumps({"questions": records}), encoding="utf-8")
    assert f"{path}: expected a JSON array, found dict" in fail(capsys, "--validate")


def test_changed_byte_of_a_value_in_a_database_is_found(world, capsys):
    path = Path("data/databases/library/library.sqlite")
    content = path.read_bytes()
    assert content.count(b"Dunes") == 1
    path.unlink()
    path.write_bytes(content.replace(b"Dunes", b"Tunes"))
    text = "\n".join(fail(capsys, "--validate"))
    assert "database_sha256: expected" in text
    assert "gold_answer: expected what gold SQL returns" in text


def test_database_that_is_none_any_more_is_told(world, capsys):
    path = Path("data/databases/library/library.sqlite")
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(b"X" + content[1:])
    text = "\n".join(fail(capsys, "--validate"))
    assert "library_eval_000: database_sha256: expected" in text
    assert "expected a database" in text


def test_missing_database_of_the_product_is_told(world, capsys):
    Path("data/databases/library/library.sqlite").unlink()
    lines = fail(capsys, "--validate")
    assert any("gold_sql: No database at" in line for line in lines)


def test_product_of_other_targets_is_told(world, capsys):
    world.change("select_questions.targets.eval_share", 0.5)
    assert fail(capsys, "--validate") == [
        "validate_dataset: Validation failed with 1 errors",
        "split eval: expected a share of 0.5 within 0.02, found 0.2857 (10 of 35)",
    ]


def test_corpora_of_the_product_are_those_of_its_audit(world, capsys):
    world.change("select_questions.targets.corpus_shares", {"local": 1.0})
    main("--validate")
    world.change("select_questions.targets.corpus_shares", {"local": 0.9, "other": 0.1})
    assert fail(capsys, "--validate")[1:] == [
        "corpus local in train: expected a share of 0.9 within 0.02, found 1.0000 (25 of 25)",
        "corpus local in eval: expected a share of 0.9 within 0.02, found 1.0000 (10 of 10)",
        "corpus other in train: expected a share of 0.1 within 0.02, found 0.0000 (0 of 25)",
        "corpus other in eval: expected a share of 0.1 within 0.02, found 0.0000 (0 of 10)",
    ]


def test_corpora_are_looked_up_where_the_files_are_not_in_step(world, capsys):
    world.change("select_questions.targets.corpus_shares", {"local": 1.0})
    path = Path("data/interim/selection/excluded.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[::-1]), encoding="utf-8")
    main()
    assert world.json("data/interim/validation.json") == {"errors": []}
