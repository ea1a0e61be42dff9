"""export_dataset: the product's form, its sidecars, metrics and plots, the same bytes each time."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from answerkey.base.errors import Reason
from answerkey.dataset import FIELDS
from answerkey.flags import FLAGS
from tests.shared.export_world import ExportWorld
from tests.shared.project_world import World

OUTS = ("data/questions", "metrics", "plots")


@pytest.fixture
def world(exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose product is built."""
    monkeypatch.chdir(tmp_path)
    return exported.copy(tmp_path)


def read_outs(world: World) -> dict[str, bytes]:
    return {
        path.relative_to(world.folder).as_posix(): path.read_bytes()
        for out in OUTS
        for path in sorted((world.folder / out).rglob("*"))
        if path.is_file()
    }


def list_keys(value: object, prefix: str = "") -> list[str]:
    if not isinstance(value, dict):
        return [prefix]
    return [key for name, inner in value.items() for key in list_keys(inner, f"{prefix}.{name}")]


def test_product_is_an_array_of_records_with_the_nine_fields_in_order(world):
    for split, count in (("train", 25), ("eval", 10)):
        questions = world.json(f"data/questions/questions_{split}.json")
        assert len(questions) == count
        assert all(tuple(question) == FIELDS for question in questions)
        assert {question["split"] for question in questions} == {split}


def test_product_and_sidecars_hold_every_loaded_question_as_it_was_selected(world):
    questions = [
        question
        for split in ("train", "eval")
        for question in world.json(f"data/questions/questions_{split}.json")
    ]
    assert questions == world.lines("data/interim/selection/questions.jsonl")
    loaded = [record["question_id"] for record in world.lines("data/interim/splits.jsonl")]
    product = [question["question_id"] for question in questions]
    excluded = [record["question_id"] for record in world.lines("data/questions/excluded.jsonl")]
    assert Counter(product + excluded) == Counter(loaded)
    assert len(loaded) == 42
    for name in ("audit.jsonl", "excluded.jsonl", "test_suites.jsonl", "pass_rates.jsonl"):
        assert world.lines(f"data/questions/{name}") == world.lines(
            f"data/interim/selection/{name}"
        )


def test_product_holds_these_files_and_a_second_export_the_same_bytes(world):
    first = read_outs(world)
    assert sorted(name for name in first if name.startswith("data/")) == [
        "data/questions/audit.jsonl",
        "data/questions/corpora.json",
        "data/questions/excluded.jsonl",
        "data/questions/pass_rates.jsonl",
        "data/questions/questions_eval.json",
        "data/questions/questions_train.json",
        "data/questions/test_suites.jsonl",
    ]
    world.run("export_dataset")
    assert read_outs(world) == first


def test_second_run_of_every_stage_gives_the_same_bytes(world):
    first = read_outs(world)
    for path in sorted((world.folder / "data").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    world.change("execution.workers", 2)
    world.run_to("export_dataset")
    assert read_outs(world) == first


def test_counts_are_of_every_question(world):
    counts = world.json("metrics/counts.json")
    assert (counts["loaded"], counts["usable"], counts["selected"]) == (42, 36, 35)
    assert sum(counts["excluded"].values()) == 42 - 35
    assert counts["excluded"]["sql_error"] == 1
    assert counts["split"] == {"train": 25, "eval": 10}
    assert counts["difficulty"] == {"easy": 14, "medium": 14, "hard": 7}
    assert counts["database"] == {"harbour": 25, "library": 10}
    assert sum(counts["answer_type"].values()) == sum(counts["hardness"].values()) == 35
    assert counts["selection"]["size"] == 35


def test_counts_and_metrics_have_the_same_keys_whatever_is_excluded(world):
    before = {name: world.json(f"metrics/{name}.json") for name in ("counts", "dataset")}
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
    before = read_outs(world)
    with pytest.raises(ValueError, match="lists 1 errors"):
        world.run("export_dataset")
    assert read_outs(world) == before
