"""export_trainers: every format read back by the library that reads it, with nothing changed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from answerkey.core.errors import InputError
from answerkey.exports.prompts import Exercise
from stages.export_trainers import TABLES, make_row, make_schema
from tests.shared.export_world import SPLITS, ExportWorld, describe, parse
from tests.shared.project_world import World

FACTS = (
    *("question_id", "database_name", "gold_sql", "answer_type", "difficulty"),
    "order_matters",
)
FILES = [
    "openenv/eval.jsonl",
    "openenv/train.jsonl",
    "questions.db",
    "skyrl/eval.parquet",
    "skyrl/train.parquet",
    "trl/messages/eval.parquet",
    "trl/messages/train.parquet",
    "trl/prompt_completion/eval.parquet",
    "trl/prompt_completion/train.parquet",
    "verl/eval.parquet",
    "verl/train.parquet",
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> ExportWorld:
    return ExportWorld(tmp_path_factory.mktemp("exports"))


def list_files(exports: Path) -> dict[str, str]:
    """sha256 of each file but those of export_dataset."""
    return {
        path.relative_to(exports).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(exports.rglob("*"))
        if path.is_file() and "huggingface" not in path.parts
    }


def test_these_files_are_written_and_no_other(exported):
    assert sorted(list_files(exported.exports)) == FILES


def test_columns_of_one_name_are_the_same_in_all_tables():
    question = {
        "question_id": "ship_train_000",
        "database_name": "ship",
        "gold_sql": "SELECT 1",
        "gold_answer": 1,
        "answer_type": "integer",
        "difficulty": "easy",
        "split": "train",
    }
    exercise = Exercise(
        question, order_matters=True, prompt="One?", index=7, data_source="answerkey/sample"
    )
    together = make_row(exercise)
    assert list(together) == make_schema().names
    for table in TABLES:
        row = table.make_row(exercise)
        assert list(row) == table.make_schema().names
        assert row == {name: together[name] for name in row}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    ("folder", "reward", "fixed"),
    [
        ("verl", "reward_model", {"ability": "text-to-sql", "style": "rule"}),
        ("skyrl", "reward_spec", {"env_class": "answerkey", "method": "rule"}),
    ],
)
def test_loader_of_verl_and_skyrl_gives_back_every_question(
    exported, tmp_path, split, folder, reward, fixed
):
    rows = exported.load(f"{folder}/{split}.parquet", cache=tmp_path)
    questions = exported.questions(split)
    assert len(rows) == len(questions) > 0
    for index, (row, question) in enumerate(zip(rows, questions, strict=True)):
        assert row["data_source"] == "answerkey/local"
        assert parse(row[reward]["ground_truth"]) == describe(question["gold_answer"])
        assert {**row, **row[reward]}.items() >= fixed.items()
        assert row["extra_info"] == {
            "split": split,
            "index": index,
            **{name: question[name] for name in FACTS},
        }
        (message,) = row["prompt"]
        assert message["role"] == "user"
        assert f"Question: {question['question_text']}" in message["content"]
        assert f"`{question['database_name']}`" in message["content"]
        assert set(row) == {"data_source", "prompt", "extra_info", reward} | (
            {"ability"} if folder == "verl" else {"env_class"}
        )


@pytest.mark.parametrize("split", SPLITS)
def test_trl_has_prompt_completion_and_columns_for_rewards(exported, tmp_path, split):
    rows = exported.load(f"trl/prompt_completion/{split}.parquet", cache=tmp_path)
    questions = exported.questions(split)
    for row, question in zip(rows, questions, strict=True):
        assert [message["role"] for message in row["prompt"]] == ["user"]
        assert row["completion"] == [
            {"role": "assistant", "content": f"```sql\n{question['gold_sql']}\n```"}
        ]
        assert parse(row["gold_answer"]) == describe(question["gold_answer"])
        assert {name: row[name] for name in FACTS} == {name: question[name] for name in FACTS}
        assert set(row) == {"prompt", "completion", "gold_answer", *FACTS}


@pytest.mark.parametrize("split", SPLITS)
def test_trl_messages_are_prompt_and_completion(exported, tmp_path, split):
    chats = exported.load(f"trl/messages/{split}.parquet", cache=tmp_path)
    rows = exported.load(f"trl/prompt_completion/{split}.parquet", cache=tmp_path)
    assert len(rows) == len(exported.questions(split))
    assert chats == [
        {"messages": row["prompt"] + row["completion"], "question_id": row["question_id"]}
        for row in rows
    ]


@pytest.mark.parametrize("split", SPLITS)
def test_openenv_lines_hold_what_a_reset_takes(exported, split):
    text = (exported.exports / f"openenv/{split}.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    questions = exported.questions(split)
    names = ("question_id", "question_text", "database_name", "answer_type", "order_matters")
    for line, question in zip(lines, questions, strict=True):
        assert parse(line.pop("gold_answer")) == describe(question["gold_answer"])
        known = {name: question[name] for name in (*names, "difficulty", "split")}
        assert line == known | {"evidence": None}


def test_openenv_lines_are_a_table_too(exported, tmp_path):
    import datasets

    datasets.disable_progress_bars()
    path = exported.exports / "openenv/train.jsonl"
    rows = datasets.load_dataset("json", data_files=str(path), cache_dir=str(tmp_path))["train"]
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows.to_list() == lines


def test_second_run_gives_the_same_bytes(exported, monkeypatch):
    before = list_files(exported.exports)
    monkeypatch.chdir(exported.folder)
    exported.world.run("export_trainers")
    assert list_files(exported.exports) == before


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    (tmp_path / "prompt.j2").write_text("{{ question_text }}")
    world.change("export_trainers.prompt_template", "prompt.j2")
    return world


def test_template_from_params_makes_the_prompts(world, tmp_path):
    (tmp_path / "prompt.j2").write_text("{{ database_name }}? {{ question_text }}\n{{ schema }}\n")
    world.change("export_trainers.example_rows", 1)
    world.run_to("export_dataset")
    world.run("export_trainers")
    from pyarrow import parquet

    rows = parquet.read_table(tmp_path / "data/exports/verl/eval.parquet").to_pylist()
    question = world.json("data/questions/questions_eval.json")[0]
    text = rows[0]["prompt"][0]["content"]
    assert text.startswith(f"library? {question['question_text']}\nCREATE TABLE author")
    assert "-- (1, 'Zoë')\nCREATE TABLE shelf" in text


def test_split_without_questions_has_no_file_and_none_of_before(world):
    world.drop_targets()
    world.run_to("export_dataset")
    world.run("export_trainers")
    world.write_questions("dev.json", "library", [("Pay?", "SELECT wage FROM book")])
    world.run_to("export_dataset")
    world.run("export_trainers")
    assert sorted(list_files(world.folder / "data/exports")) == [
        file for file in FILES if "eval" not in file
    ]


def test_template_that_asks_for_an_unknown_name_stops_the_run(world, tmp_path):

    (tmp_path / "prompt.j2").write_text("{{ gold_sql }}")
    world.run_to("export_dataset")
    with pytest.raises(InputError, match="'gold_sql' is undefined: expected no other names"):
        world.run("export_trainers")
    assert not list((tmp_path / "data/exports/verl").iterdir())


def test_missing_template_names_the_params_key(world, tmp_path):
    (tmp_path / "prompt.j2").unlink()
    world.run_to("export_dataset")
    with pytest.raises(FileNotFoundError, match=r"export_trainers\.prompt_template"):
        world.run("export_trainers")


def test_questions_and_sidecar_out_of_step_stop_the_run(world):
    world.run_to("export_dataset")
    path = world.folder / "data/questions/audit.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[1], lines[0], *lines[2:]]), encoding="utf-8")
    with pytest.raises(InputError, match="out of step"):
        world.run("export_trainers")
