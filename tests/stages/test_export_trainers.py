"""export_trainers: every format read back by the library that reads it, with nothing changed."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import datasets
import pytest
from pyarrow import parquet

from answerkey.base.errors import InputError
from answerkey.base.records import read_jsonl, write_jsonl
from answerkey.environments.questions import read_terms
from answerkey.exports.trainers import FORMATS
from answerkey.reward import RewardPool
from tests.shared.checkout import hash_tree
from tests.shared.export_world import SPLITS, ExportWorld, describe, parse
from tests.shared.project_world import ROOT, World

FACTS = (
    *("question_id", "database_name", "gold_sql", "answer_type", "difficulty"),
    *("engine", "order_matters", "max_steps", "max_cpu_s", "rule", "accepted_rows"),
    *("other_answers", "test_suite", "database_sha256"),
)
FILES = [
    "huggingface/README.md",
    "huggingface/croissant.json",
    "huggingface/databases.parquet",
    "huggingface/eval.parquet",
    "huggingface/eval.yaml",
    "huggingface/test_suites.parquet",
    "huggingface/train.parquet",
    "openenv/README.md",
    "openenv/eval.jsonl",
    "openenv/train.jsonl",
    "prompt_lengths.json",
    "prompts/README.md",
    "prompts/eval.parquet",
    "prompts/train.parquet",
    "questions.db",
    "skyrl/README.md",
    "skyrl/eval.parquet",
    "skyrl/train.parquet",
    "trl/messages/README.md",
    "trl/messages/eval.parquet",
    "trl/messages/train.parquet",
    "trl/prompt_completion/README.md",
    "trl/prompt_completion/eval.parquet",
    "trl/prompt_completion/train.parquet",
    "trl/prompt_only/README.md",
    "trl/prompt_only/eval.parquet",
    "trl/prompt_only/train.parquet",
    "verl/README.md",
    "verl/eval.parquet",
    "verl/train.parquet",
    "widened/README.md",
]


def test_these_files_are_written_and_no_other(exported):
    written = list(hash_tree(exported.exports, "."))
    assert [file for file in written if file not in FILES] == [], "put it into FILES"
    assert [file for file in FILES if file not in written] == [], "FORMATS writes no such file"
    assert len(written) == len(FILES)


def test_page_lists_each_folder_of_exports():
    page = (ROOT / "docs/exports.md").read_text(encoding="utf-8")
    listed = re.findall(r"^data/exports/([\w/]+)/ ", page, re.MULTILINE)
    assert [name for name in FORMATS if name not in listed] == [], "put it into docs/exports.md"


@pytest.mark.parametrize("folder", ["huggingface", *FORMATS])
def test_splits_of_a_folder_have_their_own_names(exported, tmp_path, folder):
    datasets.disable_progress_bars()
    loaded = datasets.load_dataset(str(exported.exports / folder), cache_dir=str(tmp_path))
    assert sorted(loaded) == sorted(SPLITS)
    for split, rows in loaded.items():
        assert len(rows) == len(exported.questions(split))


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
def test_openenv_lines_hold_what_a_reset_takes(exported, split):
    text = (exported.exports / f"openenv/{split}.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    questions = exported.questions(split)
    names = ("question_id", "question_text", "database_name", "answer_type", *FACTS[5:])
    for line, question in zip(lines, questions, strict=True):
        assert parse(line.pop("gold_answer")) == describe(question["gold_answer"])
        known = {name: question[name] for name in (*names, "difficulty", "split")}
        assert line == known | {"evidence": None}


@pytest.fixture
def world(exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose exports are built, to change."""
    monkeypatch.chdir(tmp_path)
    return exported.copy(tmp_path)


def test_second_run_gives_the_same_bytes_and_writes_nowhere_else(exported, world):
    home = world.folder / "home"
    done = subprocess.run(
        [sys.executable, "-m", "stages.export_trainers"],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    count = len([*FORMATS, "questions.db"])
    said = f"export_trainers: 35 questions in {count} formats: train 25, eval 10\n"
    assert done.stderr == said
    assert hash_tree(world.folder / "data/exports", ".") == hash_tree(exported.exports, ".")
    assert not home.exists()


def test_template_from_params_makes_the_prompts(world, tmp_path):
    (tmp_path / "prompt.j2").write_text("{{ database_name }}? {{ question_text }}\n{{ schema }}\n")
    world.change("export_trainers.prompt_template", "prompt.j2")
    world.change("export_trainers.example_rows", 1)
    world.run("export_trainers")
    rows = parquet.read_table(tmp_path / "data/exports/verl/eval.parquet").to_pylist()
    question = world.json("data/questions/questions_eval.json")[0]
    text = rows[0]["prompt"][0]["content"]
    assert text.startswith(f"library? {question['question_text']}\nCREATE TABLE author")
    assert "-- (1, 'Zoë')\nCREATE TABLE shelf" in text


@pytest.mark.slow
def test_split_without_questions_has_no_file_and_none_of_before(world, tmp_path):
    world.drop_targets()
    world.write_questions("dev.json", "library", [("Pay?", "SELECT wage FROM book")])
    world.run_to("export_dataset")
    world.run("export_trainers", "export_huggingface")
    assert list(hash_tree(world.folder / "data/exports", ".")) == [
        file for file in FILES if "eval" not in file
    ]
    datasets.disable_progress_bars()
    folder = world.folder / "data/exports/huggingface"
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == {"train": 25}


def write_suites(world: World) -> dict[str, str | None]:
    """Write a sidecar in which each question whose answer is a list has a suite, of one database
    without rows; by the id of each question, what exports hold."""
    expected, records = {}, []
    for split in SPLITS:
        for question in world.json(f"data/questions/questions_{split}.json"):
            name = question["database_name"]
            path = f"data/test_suites/{name}/{name}.99.sqlite"
            known = {"path": path, "sha256": "1f", "gold_answer": [], "order_matters": False}
            known |= {"accepted_rows": None}
            databases = [known]
            if question["answer_type"] != "list":
                databases = [None, []][len(records) % 2]
            question_id = {"question_id": question["question_id"]}
            score = {"database": 0.5, "suite": 0.9}
            records.append({**question_id, "mutation_score": score, "databases": databases})
            expected[question["question_id"]] = json.dumps([known]) if databases else None
    write_jsonl(world.folder / "data/questions/test_suites.jsonl", records)
    return expected


def test_test_suite_of_the_sidecar_stands_in_every_format(world, tmp_path):
    expected = write_suites(world)
    assert len(set(expected.values())) > 1
    world.run("export_trainers")
    exports = tmp_path / "data/exports"
    found = {}
    for split in SPLITS:
        for folder in ("verl", "skyrl", "trl/prompt_completion"):
            rows = parquet.read_table(exports / folder / f"{split}.parquet").to_pylist()
            facts = [row.get("extra_info", row) for row in rows]
            found.setdefault(folder, {}).update(
                {fact["question_id"]: fact["test_suite"] for fact in facts}
            )
        lines = (exports / f"openenv/{split}.jsonl").read_text(encoding="utf-8").splitlines()
        found.setdefault("openenv", {}).update(
            {line["question_id"]: line["test_suite"] for line in map(json.loads, lines)}
        )
    with closing(sqlite3.connect(exports / "questions.db")) as connection:
        query = "SELECT question_id, test_suite FROM questions"
        found["questions.db"] = dict(connection.execute(query).fetchall())
    assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize(("least", "left"), [(0.0, 25), (0.5, 23), (0.9, 22), (1.0, 0)])
def test_question_below_the_bar_stays_out_of_what_rewards_train_on(world, tmp_path, least, left):
    path = tmp_path / "data/questions/test_suites.jsonl"
    records = list(read_jsonl(path))
    scores = [None, {"database": 1.0, "suite": 0.0}, {"database": 0.5, "suite": 0.5}]
    scores += [{"database": 0.5, "suite": 0.9}] * len(records)
    write_jsonl(
        path,
        (
            record | {"mutation_score": score}
            for record, score in zip(records, scores, strict=False)
        ),
    )
    world.change("export_trainers.min_mutation_score", least)
    world.run("export_trainers", "export_huggingface")
    exports = tmp_path / "data/exports"

    def count(file: str) -> int:
        path = exports / file
        if file.endswith(".jsonl"):
            return len(path.read_text(encoding="utf-8").splitlines())
        return parquet.read_metadata(path).num_rows

    of_rewards = [
        file
        for file in FILES
        if file.startswith(("verl", "skyrl", "openenv")) and not file.endswith(".md")
    ]
    of_rewards += [f"trl/prompt_completion/{split}.parquet" for split in SPLITS]
    for file in of_rewards:
        if "eval" in file:
            assert count(file) == 10
        elif left:
            assert count(file) == left
        else:
            assert not (exports / file).exists()
    for folder in ("trl/messages", "huggingface"):
        assert [count(f"{folder}/{split}.parquet") for split in SPLITS] == [25, 10]
    card = (exports / "huggingface/README.md").read_text(encoding="utf-8")
    assert (
        f"- {25 - left} of 25 questions to train on have a `mutation_score` below {least}" in card
    )


@pytest.mark.parametrize(("most", "left"), [(None, 25), (0.9, 25), (0.5, 24), (0.1, 23)])
def test_doubtful_sql_stays_out_of_what_trains_on_its_text(world, tmp_path, most, left):
    path = tmp_path / "data/questions/audit.jsonl"
    records = list(read_jsonl(path))
    risks = {record["question_id"]: 0.05 for record in records}
    train = [name for name in risks if "_train_" in name]
    risks |= {train[0]: 0.9, train[1]: 0.5, train[2]: 0.1}
    write_jsonl(path, (record | {"sql_risk": risks[record["question_id"]]} for record in records))
    world.change("export_trainers.max_sql_risk", most)
    world.change("export_trainers.min_mutation_score", 0)
    world.run("export_trainers", "export_huggingface")

    def count(folder: str) -> list[int]:
        folder = tmp_path / "data/exports" / folder
        return [parquet.read_metadata(folder / f"{split}.parquet").num_rows for split in SPLITS]

    for folder in ("trl/messages", "trl/prompt_completion"):
        assert count(folder) == [left, 10]
    for folder in ("verl", "skyrl", "trl/prompt_only", "prompts", "huggingface"):
        assert count(folder) == [25, 10]
    card = (tmp_path / "data/exports/huggingface/README.md").read_text(encoding="utf-8")
    words = f"{25 - left} of 25 questions to train on have an `sql_risk` above {most}."
    assert (words in card) == (most is not None)
    table = parquet.read_table(tmp_path / "data/exports/huggingface/train.parquet")
    told = dict(
        zip(*(table[name].to_pylist() for name in ("question_id", "sql_risk")), strict=True)
    )
    assert told == {name: risk for name, risk in risks.items() if name in told}


@pytest.mark.parametrize("kind", ["databases", "test_suites"])
def test_row_of_every_format_knows_the_files_that_it_was_made_with(world, tmp_path, kind):
    exports = tmp_path / "data/exports"
    tables = {
        name: parquet.read_table(exports / name / "train.parquet").to_pylist()
        for name in ("verl", "skyrl", "trl/prompt_completion", "huggingface")
    }
    lines = (exports / "openenv/train.jsonl").read_text(encoding="utf-8").splitlines()
    place = next(
        place for place, row in enumerate(tables["huggingface"]) if row["test_suite"] is not None
    )
    rows = {name: table[place] for name, table in tables.items()}
    gold = rows["huggingface"]["gold_sql"]
    completion = f"```sql\n{gold}\n```"
    with RewardPool(workers=1) as pool:
        ways = {
            "verl": lambda row: pool.compute_score(
                "", completion, row["reward_model"]["ground_truth"], row["extra_info"]
            ),
            "skyrl": lambda row: pool.compute_score(
                "", completion, row["reward_spec"]["ground_truth"], row["extra_info"]
            ),
            **dict.fromkeys(
                ("trl/prompt_completion", "huggingface"),
                lambda row: pool.score_completions(
                    [completion],
                    **{name: [value] for name, value in row.items() if name != "completion"},
                )[0],
            ),
            "openenv": lambda row: pool.score_sql(gold, **read_terms(row)),
        }
        rows["openenv"] = json.loads(lines[place])
        assert [way(rows[name]) for name, way in ways.items()] == [1.0] * 5
        for path in (tmp_path / "data" / kind).glob("*/*.sqlite"):
            path.write_bytes(path.read_bytes() + bytes(4096))
        for name, way in ways.items():
            with pytest.raises(ValueError, match=rf"/{kind}/.*: expected sha256 .*, found "):
                way(rows[name])


@pytest.mark.parametrize(
    ("template", "error", "words"),
    [
        ("{{ gold_sql }}", InputError, "'gold_sql' is undefined: expected no other names"),
        ("{% if %}", InputError, "prompt.j2:1: expected a Jinja template"),
        (None, FileNotFoundError, r"prompt\.j2"),
    ],
)
def test_template_that_cannot_be_used_stops_the_run(world, tmp_path, template, error, words):
    world.change("export_trainers.prompt_template", "prompt.j2")
    if template is not None:
        (tmp_path / "prompt.j2").write_text(template)
    with pytest.raises(error, match=words):
        world.run("export_trainers")


def test_questions_and_sidecar_out_of_step_stop_the_run(world):
    path = world.folder / "data/questions/audit.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([lines[1], lines[0], *lines[2:]]), encoding="utf-8")
    with pytest.raises(InputError, match="out of step"):
        world.run("export_trainers")


def test_template_of_linked_tables_shows_only_those_of_gold(world):
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt_linked.j2"))
    world.run("export_trainers")
    path = world.folder / "data/exports/trl/prompt_completion/train.parquet"
    for row in parquet.read_table(path).to_pylist():
        tables = re.findall(r"CREATE TABLE (\w+)", row["prompt"][0]["content"])
        assert tables
        assert all(name in row["gold_sql"] for name in tables)
    lengths = world.json("data/exports/prompt_lengths.json")
    kinds = ("compact_schema", "linked_schema", "schema")
    medians = [lengths[kind]["characters"]["median"] for kind in kinds]
    assert medians == sorted(medians)


def test_linked_schema_has_the_tables_that_a_file_names(world):
    links = world.folder / "data/schema_links/tables.json"
    links.parent.mkdir()
    links.write_text('{"harbour_train_003": ["CAPTAIN"]}', encoding="utf-8")
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt_linked.j2"))
    world.run("export_trainers")
    rows = parquet.read_table(world.folder / "data/exports/trl/prompt_completion/train.parquet")
    by_id = {row["question_id"]: row["prompt"][0]["content"] for row in rows.to_pylist()}
    assert re.findall(r"CREATE TABLE (\w+)", by_id["harbour_train_003"]) == ["captain"]
    links.write_text('{"harbour_train_003": ["sailor"]}', encoding="utf-8")
    with pytest.raises(InputError, match="harbour_train_003: database harbour has no table 'sail"):
        world.run("export_trainers")


def test_template_of_found_tables_shows_them_and_says_how_many_are_missed(world):
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt_searched.j2"))
    world.change("export_trainers.max_schema_characters", 500)
    world.run("export_trainers")
    rows = parquet.read_table(world.folder / "data/exports/prompts/train.parquet").to_pylist()
    shown = [re.findall(r"CREATE TABLE (\w+)", row["prompt"][0]["content"]) for row in rows]
    assert {len(tables) for tables in shown} <= {1, 2, 3}  # of four
    lengths = world.json("data/exports/prompt_lengths.json")
    assert lengths["searched_schema"]["characters"]["longest"] <= 500
    recalls = {
        name: found["recall_of_gold_tables"] for name, found in lengths.items() if "schema" in name
    }
    assert 0 < recalls.pop("searched_schema") < 1
    assert set(recalls.values()) == {1.0}
    assert "widened" not in lengths
