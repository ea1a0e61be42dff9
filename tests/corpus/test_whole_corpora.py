"""A release of BIRD, several corpora in one dataset, and a database in both splits go through every
stage."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest
import yaml

import answerkey
from answerkey.base.errors import InputError
from answerkey.evaluate import score_file
from answerkey.verbs import validate
from tests.shared.bird_world import DEV, TRAIN, write_bird, write_json
from tests.shared.paths import ROOT
from tests.shared.project_world import World
from tests.shared.transcripts import find_block

BIRD = ("school_meals", "ski_resorts")
VARIANT = [
    {"db_id": "library", "question": text, "query": sql}
    for text, sql in (
        ("What starts with a capital D?", "SELECT title FROM book WHERE title LIKE 'D%'"),
        ("How thick is the thickest?", "SELECT max(pages) FROM book"),
    )
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Spider's layout (`local`), BIRD, and a variant that asks the databases of `local`, with
    everything that the pipeline makes of them."""
    folder = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = World(folder)
        write_bird(folder / "data/bird")
        write_json(folder / "variant/dev.json", VARIANT)
        world.params["corpora"]["variant"] = {
            **{"origin": "directory", "root": "variant", "databases_of": "local"},
            **{"prefix": "variant_", "db_list": "all", "license": "mit", "corrections": None},
            "questions": {"train": [], "validation": ["dev.json"]},
        }
        world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        world.change("corpus", ["local", "bird", "variant"])
        world.drop_targets()
        world.run_to("export_dataset")
        world.run("export_trainers", "export_huggingface", "report_dataset")
    return world


@pytest.mark.slow
def test_every_question_of_bird_has_an_answer_and_its_tables(world):
    answers = {
        question["question_id"]: (question["gold_answer"], question["tables_involved"])
        for split in ("train", "eval")
        for question in world.json(f"data/questions/questions_{split}.json")
        if question["database_name"] in BIRD
    }
    assert answers == {
        "school_meals_train_000": ("Delta", ["frpm"]),
        "school_meals_train_001": (["Alameda", "Colusa"], ["frpm"]),
        "school_meals_train_002": (494.0, ["frpm", "sat scores"]),
        "school_meals_train_003": ("later", ["frpm", "sat scores"]),
        "ski_resorts_eval_000": (3275, ["resort"]),
        "ski_resorts_eval_001": (["Alta Vista", "Passo Nero"], ["lift list", "resort"]),
    }


def test_prompt_shows_evidence_and_only_where_there_is_any(world):
    from pyarrow import parquet

    prompts = {}
    for split in ("train", "eval"):
        for row in parquet.read_table(
            f"{world.folder}/data/exports/verl/{split}.parquet"
        ).to_pylist():
            prompts[row["extra_info"]["question_id"]] = row["prompt"][0]["content"]
    end = r"(\nValues that it names: .+)?\n\nReturn the columns"
    for number, row in enumerate(TRAIN):
        tail = f"Question: {row['question']}\n"
        if row.get("evidence"):
            tail += f"Evidence: {row['evidence']}\n"
        prompt = prompts[f"school_meals_train_{number:03d}"]
        assert re.search(re.escape(tail.strip()) + end, prompt)
        assert ("Evidence" in prompt) == bool(row.get("evidence"))


def test_exports_have_a_column_for_evidence(world):
    from pyarrow import parquet

    exports = world.folder / "data/exports"
    lines = (exports / "openenv/eval.jsonl").read_text(encoding="utf-8").splitlines()
    with closing(sqlite3.connect(exports / "questions.db")) as connection:
        connection.row_factory = sqlite3.Row
        rows = connection.execute("SELECT * FROM questions ORDER BY question_id").fetchall()
    table = parquet.read_table(exports / "huggingface/eval.parquet").to_pylist()
    for questions in (table, map(json.loads, lines), rows):
        asked = [row for row in questions if row["database_name"] == "ski_resorts"]
        assert [row["evidence"] for row in asked] == [row["evidence"] for row in DEV]


@pytest.mark.slow
def test_evidence_that_utf8_cannot_hold_is_excluded_and_stops_no_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    write_bird(tmp_path / "data/bird")
    # Escaped, as JSON spells half of a surrogate pair.
    text = json.dumps([{**DEV[0], "evidence": "height \ud800"}, DEV[1]])
    (tmp_path / "data/bird/dev.json").write_text(text, encoding="utf-8")
    world.change("corpus", "bird")
    world.drop_targets()
    world.run_to("export_dataset")
    (excluded,) = world.lines("data/questions/excluded.jsonl")
    assert excluded["question_id"] == "ski_resorts_eval_000"
    assert (excluded["reason"], excluded["detail"]) == (
        "undecodable_text",
        "evidence: surrogates not allowed",
    )


def test_all_questions_reach_the_product_or_are_excluded(world):
    metrics = world.json("metrics/counts.json")
    assert metrics["corpus"]["bird"] == {"loaded": 6, "usable": 6, "selected": 6}
    assert metrics["corpus"]["variant"]["loaded"] == 2
    assert sum(counts["loaded"] for counts in metrics["corpus"].values()) == metrics["loaded"]
    assert sum(counts["selected"] for counts in metrics["corpus"].values()) == metrics["selected"]
    assert metrics["selected"] + sum(metrics["excluded"].values()) == metrics["loaded"]
    assert sorted(metrics["database"]) == ["harbour", "library", "school_meals", "ski_resorts"]


def test_shared_database_is_kept_once(world):
    databases = world.json("data/databases/manifest.json")["databases"]
    assert {name: item["origin"]["corpus"] for name, item in databases.items()} == {
        "harbour": "local",
        "library": "local",
        "school_meals": "bird",
        "ski_resorts": "bird",
    }


def test_data_source_of_a_row_is_its_own_corpus(world):
    from pyarrow import parquet

    rows = parquet.read_table(world.folder / "data/exports/skyrl/eval.parquet").to_pylist()
    found = {(row["extra_info"]["database_name"], row["data_source"]) for row in rows}
    assert found >= {
        ("library", "answerkey/local"),
        ("library", "answerkey/variant"),
        ("ski_resorts", "answerkey/bird"),
    }


def test_card_tells_of_every_corpus_and_licence(world):
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(world.folder / "data/exports/huggingface/README.md")
    assert card.data.license == ["other", "cc-by-sa-4.0", "mit"]
    for words in (
        "questions of `local` and `bird` and `variant`",
        "Questions of `bird`: train.json, dev.json. Licence: cc-by-sa-4.0.",
        "2 copied from `bird`, 2 made from SQL text of `local`",
    ):
        assert words in card.text


def ask_one_database(world: World) -> dict[str, Any]:
    """Give the world questions of one database alone, in train and in dev, as the entry of
    docs/corpora.md names them; that entry."""
    train = [
        ("Which ships weigh more than 40?", "SELECT name FROM ship WHERE weight > 40"),
        ("Which ships weigh more than 50?", "SELECT name FROM ship WHERE weight > 50"),
        ("How long is each ship?", "SELECT name, length FROM ship"),
        ("Who are the captains?", "SELECT name FROM captain"),
        ("How old are the captains?", "SELECT name, age FROM captain"),
        ("Which ports are there?", "SELECT name FROM port"),
    ]
    dev = [
        ("Name what is heavier than 60.", "SELECT T1.name FROM ship AS T1 WHERE 60 < T1.weight"),
        ("What are the ports?", "SELECT name FROM port"),
        ("In which years were voyages?", "SELECT DISTINCT year FROM voyage"),
    ]
    world.write_questions("train.json", "harbour", train)
    world.write_questions("dev.json", "harbour", dev)
    (world.folder / "corpus").rename(world.folder / "data/local/clinic")
    world.change("corpus", "clinic")
    world.change("select_questions.preset", "small")
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    entry: dict[str, Any] = yaml.safe_load(find_block(ROOT / "docs/corpora.md", "yaml", "clinic:"))
    return entry["clinic"]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["source", "query"])
def test_database_in_both_splits_reaches_every_export(tmp_path, monkeypatch, by):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    (tmp_path / "data/local").mkdir(parents=True)
    entry = ask_one_database(world)
    assert entry.pop("split") == {"by": "source"}
    world.change("corpora.clinic", entry)
    world.run("download_databases", "load_questions")
    with pytest.raises(InputError, match=r"both .*corpora.clinic.split: {by: source}"):
        world.run("assign_splits")

    world.change("corpora.clinic", entry | {"split": {"by": by}})
    world.run_to("export_dataset")
    world.run("export_trainers", "export_huggingface", "report_dataset")

    counts = world.json("metrics/counts.json")
    left_out = [record["question_id"] for record in world.lines("data/questions/excluded.jsonl")]
    # A form is never in both splits by query, and two of dev repeat train by its own.
    seen = {"source": ["harbour_eval_000", "harbour_eval_001"], "query": []}[by]
    assert left_out == seen
    assert counts["excluded"].get("seen_in_train", 0) == len(seen)
    asked = {
        question["question_id"]: question["gold_sql"]
        for split in ("train", "eval")
        for question in answerkey.load("data/exports/huggingface", split=split).questions
    }
    assert len(asked) == 9 - len(seen)
    if by == "source":
        assert [name for name in asked if "eval" in name] == ["harbour_eval_002"]
    assert validate.run() == 0
    card = (world.folder / "data/exports/huggingface/README.md").read_text(encoding="utf-8")
    assert f"`seen_in_train`; left out for it: {len(seen)}." in card
    predictions = "".join(
        json.dumps({"question_id": question_id, "prediction": sql}) + "\n"
        for question_id, sql in asked.items()
    )
    (tmp_path / "predictions.jsonl").write_text(predictions, encoding="utf-8")
    scores = score_file("predictions.jsonl", workers=1)
    assert [score["score"] for score in scores] == [1.0] * len(asked)
