"""validate_dataset: the selection in the pipeline, and the product that lies here."""

from __future__ import annotations

import contextlib
import json
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
    (_, line) = fail(capsys)
    assert line.startswith("library: database_sha256: expected ")
    assert line.endswith(f"as audit.jsonl has it for 10 of the questions, found {'0' * 64}")


def test_changed_test_suite_fails_in_the_pipeline(world, capsys):
    edit_lines(Path("data/interim/selection/test_suites.jsonl"), '"suite": 1.0', '"suite": 0.9')
    (line,) = fail(capsys)[1:]
    assert line.startswith("harbour_train_000: test_suites.jsonl: mutation_score: expected a suite")


def test_swapped_database_of_a_suite_fails_in_the_pipeline(world, capsys):
    first, second, *_ = sorted(Path("data/test_suites/library").glob("*.sqlite"))
    first.write_bytes(second.read_bytes())
    lines = fail(capsys)[1:]
    assert lines
    assert all(f"test_suites.jsonl: {first}: expected sha256 " in line for line in lines)


def test_changed_database_of_a_suite_fails_where_the_product_is_validated(world, capsys):
    path = Path("data/test_suites/library/library.01.sqlite")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM book")
        connection.commit()
    lines = fail(capsys, "--validate")[1:]
    assert any(f"test_suites.jsonl: {path}: expected sha256 " in line for line in lines)
    assert any(f"{path}: gold_answer: expected [], by gold SQL, found [" in line for line in lines)


def test_product_validates_itself_with_nothing_else_there(world, capsys):
    shutil.rmtree("data/interim")
    Path("data/databases/manifest.json").unlink()
    capsys.readouterr()
    main("--validate")
    assert capsys.readouterr().err.splitlines() == [
        "validate_dataset: data/interim is not all here: the product is held against gold SQL"
        " alone",
        "validate_dataset: no errors",
    ]


def test_product_is_held_against_the_records_of_the_stages(world, capsys):
    capsys.readouterr()
    main("--validate")
    assert capsys.readouterr().err == "validate_dataset: no errors\n"
    edit_lines(Path("data/questions/questions_eval.json"), "title above 90", "title above 91 or 90")
    edit_lines(Path("data/questions/excluded.jsonl"), "What do sailors", "What do captains")
    assert fail(capsys, "--validate")[1:] == [
        "library_eval_000: question_text: expected 'title above 90 over 1 tables?', as"
        " data/interim/selection has it, found 'title above 91 or 90 over 1 tables?'",
        "data/questions/excluded.jsonl: expected the bytes of"
        " data/interim/selection/excluded.jsonl",
    ]


def test_question_that_was_not_selected_is_told(world, capsys):
    world.drop_targets()
    world.run("select_questions")
    errors = fail(capsys, "--validate")[1:]
    assert any("expected in the product, as data/interim/selection has it" in e for e in errors)
    world.change("select_questions.policies.latent_ambiguity", "exclude")
    world.run("select_questions")
    errors = fail(capsys, "--validate")[1:]
    assert any("expected only questions of data/interim/selection" in error for error in errors)


@pytest.mark.parametrize("folder", ["questions", "databases"])
def test_before_a_pull_there_is_nothing_to_validate(world, capsys, folder):
    shutil.rmtree(f"data/{folder}")
    (line,) = fail(capsys, "--validate", status=3)
    assert line.endswith(": run `dvc pull`, or `dvc repro` if nobody has pushed it")


def test_lost_file_of_the_product_is_told(world, capsys):
    Path("data/questions/questions_eval.json").unlink()
    assert fail(capsys, "--validate") == [
        "validate_dataset: Validation failed with 1 errors",
        "data/questions/questions_eval.json: expected beside the other files of the product: run"
        " `dvc pull`, or `dvc repro` if nobody has pushed it",
    ]


def test_altered_parse_and_difficulty_fail_in_the_pipeline(world, capsys):
    questions = Path("data/interim/selection/questions.jsonl")
    edit_lines(questions, '"difficulty": "easy"', '"difficulty": "medium"')
    edit_lines(questions, '"tables_involved": ["ship"]', '"tables_involved": ["port"]')
    assert fail(capsys)[1:3] == [
        "harbour_train_000: tables_involved: expected what gold SQL reads, ['ship'], found"
        " ['port']",
        "harbour_train_000: difficulty: expected easy, by the rule of difficulty, found medium",
    ]


def test_text_under_two_ids_fails_unless_policies_let_it_pass(world, capsys):
    text = "ship.name above 10 over 1 tables?"
    for path in ("interim/splits.jsonl", "interim/selection/questions.jsonl"):
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
        ('"split": "eval"', '"split": "evil"', "split: expected eval, found 'evil'"),
        ("book.pages > 90", "book.pages > 9x", "gold_sql: SQL execution failed for library"),
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
    assert "library: database_sha256: expected" in text
    assert "expected a database" in text


def test_missing_database_is_one_error_of_the_product(world, capsys):
    Path("data/databases/library/library.sqlite").unlink()
    assert fail(capsys, "--validate") == [
        "validate_dataset: Validation failed with 1 errors",
        "library: expected a database at data/databases/library/library.sqlite: run `dvc pull`;"
        " asked by 10 of the questions",
    ]


def test_product_of_other_targets_is_told(world, capsys):
    world.change("select_questions.targets.eval_share", 0.5)
    assert fail(capsys, "--validate") == [
        "validate_dataset: Validation failed with 1 errors",
        "split eval: expected a share of 0.5 within 0.02, found 0.2857 (10 of 35)",
    ]


def test_corpora_of_the_product_are_those_of_its_audit(world, capsys):
    world.change("select_questions.targets.corpus_shares", {"local": 1.0})
    main("--validate")
    world.params["corpus"] = ["local", "sample"]
    world.change("select_questions.targets.corpus_shares", {"local": 0.9, "sample": 0.1})
    assert fail(capsys, "--validate")[1:] == [
        "corpus local in train: expected a share of 0.9 within 0.02, found 1.0000 (25 of 25)",
        "corpus local in eval: expected a share of 0.9 within 0.02, found 1.0000 (10 of 10)",
        "corpus sample in train: expected a share of 0.1 within 0.02, found 0.0000 (0 of 25)",
        "corpus sample in eval: expected a share of 0.1 within 0.02, found 0.0000 (0 of 10)",
    ]


def test_corpora_are_looked_up_where_the_files_are_not_in_step(world, capsys):
    world.change("select_questions.targets.corpus_shares", {"local": 1.0})
    path = Path("data/interim/selection/excluded.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[::-1]), encoding="utf-8")
    main()
    assert world.json("data/interim/validation.json") == {"errors": []}
