"""validate_dataset: the selection in the pipeline, and the product that lies here."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from stages.validate_dataset import main
from tests.shared.project_world import World


@pytest.fixture
def world(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose product is built."""
    folder = tmp_path / "world"
    shutil.copytree(built, folder)
    monkeypatch.chdir(folder)
    return World(folder)


def fail(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> list[str]:
    """The lines that a run prints that ends with this status."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(*arguments)
    assert caught.value.code == status
    return capsys.readouterr().err.splitlines()


def edit_lines(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


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


def test_lost_question_fails_in_the_pipeline(world, capsys):
    path = Path("data/interim/selection/excluded.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[1:]), encoding="utf-8")
    assert fail(capsys)[1:] == [
        "harbour_train_025: expected 1 times among selected and excluded questions, as it was"
        " loaded, found 0 times"
    ]


def test_changed_database_of_a_suite_fails_where_the_product_is_validated(world, capsys):
    path = Path("data/test_suites/library/library.01.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM book")
        connection.commit()
    lines = fail(capsys, "--validate")[1:]
    assert any(line.startswith(f"{path}: expected sha256 ") for line in lines)
    assert any(f"{path}: expected [], as '" in line for line in lines)


def test_product_validates_itself_with_nothing_else_there(world, capsys):
    shutil.rmtree("data/interim")
    Path("data/databases/manifest.json").unlink()
    capsys.readouterr()
    main("--validate")
    assert capsys.readouterr().err == "validate_dataset: no errors\n"


@pytest.mark.parametrize("folder", ["questions", "databases"])
def test_before_a_pull_there_is_nothing_to_validate(world, capsys, folder):
    shutil.rmtree(f"data/{folder}")
    (line,) = fail(capsys, "--validate", status=3)
    assert line.endswith(": run `dvc pull`, or `dvc repro` if nobody has pushed it")


def test_altered_parse_and_difficulty_fail_in_the_pipeline(world, capsys):
    questions = Path("data/interim/selection/questions.jsonl")
    edit_lines(questions, '"difficulty": "easy"', '"difficulty": "medium"')
    edit_lines(questions, '"tables_involved": ["ship"]', '"tables_involved": ["port"]')
    lines = fail(capsys)[1:]
    start = "harbour_train_000: {}: expected {}, as the stages before made it, found {}"
    assert start.format("difficulty", "'easy'", "'medium'") in lines
    assert start.format("tables_involved", "['ship']", "['port']") in lines


def test_text_under_two_ids_fails_unless_policies_let_it_pass(world, capsys):
    text = "ship.name above 10 over 1 tables?"
    for path in ("interim/joined.jsonl", "interim/selection/questions.jsonl"):
        edit_lines(Path("data") / path, "ship.name, length above 10 over 1 tables?", text)
    assert (
        "harbour_train_001: question_text: expected once on a database, found as that of"
        in (fail(capsys)[1])
    )
    for flag in ("duplicate_question", "conflicting_gold"):
        world.change(f"select_questions.policies.{flag}", "flag")
    main()


def test_other_rule_of_difficulty_is_that_of_the_params(world, capsys):
    world.change("classify_difficulty.method", "spider")
    world.drop_targets()
    world.run_from("classify_difficulty")
    main("--validate")
    world.change("classify_difficulty.method", "tables")
    assert any("by the rule of difficulty" in line for line in fail(capsys, "--validate"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"Dunes"', '"Tunes"', "gold_answer: expected what gold SQL returns"),
        ('"split": "eval"', '"split": "evil"', "split: expected one of train, eval, found 'evil'"),
        ("book.pages > 90", "book.pages > 9x", "gold_sql: SQL execution failed for library"),
    ],
)
def test_changed_byte_of_the_product_is_found(world, capsys, old, new, message):
    edit_lines(Path("data/questions/questions_eval.json"), old, new)
    lines = fail(capsys, "--validate")
    assert lines[0].startswith("validate_dataset: Validation failed with ")
    assert any(message in line for line in lines[1:])


def test_changed_byte_of_a_value_in_a_database_is_found(world, capsys):
    path = Path("data/databases/library/library.sqlite")
    content = path.read_bytes()
    assert content.count(b"Dunes") == 1
    path.unlink()
    path.write_bytes(content.replace(b"Dunes", b"Tunes"))
    text = "\n".join(fail(capsys, "--validate"))
    assert "database_sha256: expected" in text
    assert "gold_answer: expected what gold SQL returns" in text


def test_product_of_other_targets_is_told(world, capsys):
    world.change("select_questions.targets.eval_share", 0.5)
    assert fail(capsys, "--validate") == [
        "validate_dataset: Validation failed with 1 errors",
        "share of eval: expected 0.5 within 0.02, found 0.2857 (10 of 35)",
    ]


def test_corpora_of_the_product_are_those_of_its_audit(world, capsys):
    world.change("select_questions.targets.corpus_shares", {"local": 1.0})
    main("--validate")
    world.params["corpus"] = ["local", "sample"]
    world.change("select_questions.targets.corpus_shares", {"local": 0.9, "sample": 0.1})
    assert fail(capsys, "--validate")[1:] == [
        "share of train local: expected 0.9 within 0.02, found 1.0000 (25 of 25)",
        "share of eval local: expected 0.9 within 0.02, found 1.0000 (10 of 10)",
        "share of train sample: expected 0.1 within 0.02, found 0.0000 (0 of 25)",
        "share of eval sample: expected 0.1 within 0.02, found 0.0000 (0 of 10)",
    ]
