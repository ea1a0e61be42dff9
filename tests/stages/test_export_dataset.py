"""validate_dataset and export_dataset: what is wrong goes no further; the product, its sidecars,
metrics and plots, the same bytes each time."""

from __future__ import annotations

import contextlib
import csv
import shutil
import sqlite3
from pathlib import Path

import pytest

from answerkey.base.reasons import Reason
from answerkey.dataset import FIELDS
from answerkey.flags import FLAGS
from stages.validate_dataset import main
from tests.shared.checkout import hash_tree
from tests.shared.export_world import ExportWorld
from tests.shared.project_world import World

OUTS = ("data/questions", "metrics", "plots")


@pytest.fixture
def world(exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose product is built."""
    monkeypatch.chdir(tmp_path)
    return exported.copy(tmp_path)


def list_keys(value: object, prefix: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [prefix]
    return [key for name, inner in value.items() for key in list_keys(inner, f"{prefix}.{name}")]


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


def test_product_has_the_nine_fields_in_order_and_with_its_sidecars_is_as_it_was_selected(world):
    parts = [world.json(f"data/questions/questions_{split}.json") for split in ("train", "eval")]
    assert list(map(len, parts)) == [25, 10]
    for split, questions in zip(("train", "eval"), parts, strict=True):
        assert all(tuple(question) == FIELDS for question in questions)
        assert {question["split"] for question in questions} == {split}
    product = [question for part in parts for question in part]
    assert product == world.lines("data/interim/selection/questions.jsonl")
    for name in ("audit.jsonl", "excluded.jsonl", "test_suites.jsonl", "pass_rates.jsonl"):
        assert world.lines(f"data/questions/{name}") == world.lines(
            f"data/interim/selection/{name}"
        )


@pytest.mark.slow
def test_product_holds_these_files_and_a_second_run_of_every_stage_the_same_bytes(world):
    first = hash_tree(world.folder, *OUTS)
    assert sorted(name for name in first if name.startswith("data/")) == [
        "data/questions/audit.jsonl",
        "data/questions/corpora.json",
        "data/questions/excluded.jsonl",
        "data/questions/pass_rates.jsonl",
        "data/questions/questions_eval.json",
        "data/questions/questions_train.json",
        "data/questions/test_suites.jsonl",
    ]
    for path in sorted((world.folder / "data").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    world.change("execution.workers", 2)
    world.run_to("export_dataset")
    assert hash_tree(world.folder, *OUTS) == first


@pytest.mark.slow
def test_counts_and_metrics_have_the_same_keys_whatever_is_excluded(world):
    before = {name: world.json(f"metrics/{name}.json") for name in ("counts", "dataset")}
    told = ("loaded", "usable", "selected", "database")
    assert [before["counts"][name] for name in told] == [42, 36, 35, {"harbour": 25, "library": 10}]
    assert before["counts"]["selection"]["size"] == 35
    world.drop_targets()
    world.write_questions(
        "train_spider.json", "harbour", [("Name and weight?", "SELECT name, weight FROM ship")]
    )
    for flag in ("empty_answer", "boolean_answer"):
        world.change(f"select_questions.policies.{flag}", "off")
    world.run_to("export_dataset")
    after = {name: world.json(f"metrics/{name}.json") for name in before}
    counts, metrics = after["counts"], after["dataset"]
    assert sum(counts["excluded"].values()) == metrics["excluded"]["total"] == 0
    assert counts["loaded"] == counts["selected"] == metrics["selected"] == 12
    assert list_keys(after) == list_keys(before)
    assert set(counts["excluded"]) == {*Reason, *FLAGS}
    assert set(counts["flags"]) == set(FLAGS)
    assert len(list_keys(metrics)) < 30  # columns of `dvc exp show`


def test_plots_are_tables_whose_numbers_add_up(world):
    def read_plot(name: str) -> list[dict[str, str]]:
        with (world.folder / "plots" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    totals = {
        path.stem: sum(int(row["questions"]) for row in read_plot(path.stem))
        for path in sorted((world.folder / "plots").iterdir())
    }
    assert totals == {
        "answer_types": 35,
        "databases": 35,
        "difficulty_selected": 35,
        "difficulty_usable": 36,
        "exclusions": 7,
        "hardness_by_difficulty": 35,
        "tables": 35,
    }
    assert {row["reason"]: row["questions"] for row in read_plot("exclusions")}["sql_error"] == "1"
    assert [(row["split"], row["difficulty"]) for row in read_plot("difficulty_selected")] == [
        (split, level) for split in ("train", "eval") for level in ("easy", "medium", "hard")
    ]


def test_dataset_without_a_question_is_no_dataset(world, capsys):
    world.drop_targets()
    world.write_questions("train_spider.json", "harbour", [("Pay?", "SELECT wage FROM ship")])
    world.write_questions("dev.json", "library", [("Pay?", "SELECT wage FROM book")])
    with pytest.raises(SystemExit):
        world.run_to("validate_dataset")
    assert "dataset: expected questions, found none" in capsys.readouterr().err
    assert len(world.lines("data/interim/selection/excluded.jsonl")) == 2


def test_dataset_with_errors_is_not_exported(world):
    (world.folder / "data/interim/validation.json").write_text('{"errors": ["bad"]}')
    before = hash_tree(world.folder, *OUTS)
    with pytest.raises(ValueError, match="lists 1 error"):
        world.run("export_dataset")
    assert hash_tree(world.folder, *OUTS) == before
