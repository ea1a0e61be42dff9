"""A release of BIRD, and several corpora in one dataset, go through every stage."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.shared.bird_world import DEV, TRAIN, write_bird, write_json
from tests.shared.paths import ROOT
from tests.shared.project_world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """BIRD alone, with everything that the pipeline makes of it."""
    folder = tmp_path_factory.mktemp("bird")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = World(folder)
        write_bird(folder / "data/bird")
        world.change("corpus", "bird")
        world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        world.drop_targets()
        world.run_to("export_dataset")
        world.run("export_trainers", "export_huggingface", "report_dataset")
    return world


def read_records(world: World) -> dict[str, dict]:
    """The sidecar of the product, by the text of the question."""
    texts = {
        question["question_id"]: question["question_text"]
        for split in ("train", "eval")
        for question in world.json(f"data/questions/questions_{split}.json")
    }
    return {texts[r["question_id"]]: r for r in world.lines("data/questions/audit.jsonl")}


def test_every_question_has_an_answer_and_its_tables(world):
    assert world.lines("data/questions/excluded.jsonl") == []
    answers = {
        question["question_id"]: (question["gold_answer"], question["tables_involved"])
        for split in ("train", "eval")
        for question in world.json(f"data/questions/questions_{split}.json")
    }
    assert answers == {
        "school_meals_train_000": ("Delta", ["frpm"]),
        "school_meals_train_001": (["Alameda", "Colusa"], ["frpm"]),
        "school_meals_train_002": (494.0, ["frpm", "sat scores"]),
        "school_meals_train_003": ("later", ["frpm", "sat scores"]),
        "ski_resorts_eval_000": (3275, ["resort"]),
        "ski_resorts_eval_001": (["Alta Vista", "Passo Nero"], ["lift list", "resort"]),
    }


def test_words_of_the_corpus_are_kept_with_the_source(world):
    records = read_records(world)
    assert records[DEV[1]["question"]]["source"] == {
        "corpus": "bird",
        "file": "dev.json",
        "index": 1,
        "question_id": 1,
        "difficulty": "moderate",
    }
    assert records[TRAIN[0]["question"]]["source"] == {
        "corpus": "bird",
        "file": "train.json",
        "index": 0,
    }


def test_prompt_shows_evidence_and_only_where_there_is_any(world):
    from pyarrow import parquet

    prompts = {}
    for split in ("train", "eval"):
        for row in parquet.read_table(
            f"{world.folder}/data/exports/verl/{split}.parquet"
        ).to_pylist():
            assert row["data_source"] == "answerkey/bird"
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

    expected = [row["evidence"] for row in DEV]
    exports = world.folder / "data/exports"
    table = parquet.read_table(exports / "huggingface/eval.parquet")
    assert table["evidence"].to_pylist() == expected
    lines = (exports / "openenv/eval.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["evidence"] for line in lines] == expected
    with closing(sqlite3.connect(exports / "questions.db")) as connection:
        rows = connection.execute(
            "SELECT evidence FROM questions WHERE split = 'eval' ORDER BY question_id"
        ).fetchall()
    assert [evidence for (evidence,) in rows] == expected


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


# --- several corpora in one dataset

VARIANT = [
    {"db_id": "library", "question": text, "query": sql}
    for text, sql in (
        ("What starts with a capital D?", "SELECT title FROM book WHERE title LIKE 'D%'"),
        ("How thick is the thickest?", "SELECT max(pages) FROM book"),
    )
]


class SeveralWorld(World):
    """Spider's layout (`local`), BIRD, and a variant that asks the databases of `local`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        write_bird(folder / "data/bird")
        write_json(folder / "variant/dev.json", VARIANT)
        self.params["corpora"]["variant"] = {
            **{"origin": "directory", "root": "variant", "databases_of": "local"},
            **{"prefix": "variant_", "db_list": "all", "license": "mit", "corrections": None},
            "questions": {"train": [], "validation": ["dev.json"]},
        }
        self.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        self.change("corpus", ["local", "bird", "variant"])
        self.drop_targets()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("several")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = SeveralWorld(folder)
        world.run_to("export_dataset")
        world.run("export_trainers", "export_huggingface", "report_dataset")
    return world


def test_all_questions_reach_the_product_or_are_excluded(built):
    metrics = built.json("metrics/counts.json")
    assert metrics["corpus"]["bird"] == {"loaded": 6, "usable": 6, "selected": 6}
    assert metrics["corpus"]["variant"]["loaded"] == 2
    assert sum(counts["loaded"] for counts in metrics["corpus"].values()) == metrics["loaded"]
    assert sum(counts["selected"] for counts in metrics["corpus"].values()) == metrics["selected"]
    assert metrics["selected"] + sum(metrics["excluded"].values()) == metrics["loaded"]
    assert sorted(metrics["database"]) == ["harbour", "library", "school_meals", "ski_resorts"]


def test_shared_database_is_kept_once(built):
    databases = built.json("data/databases/manifest.json")["databases"]
    assert {name: item["origin"]["corpus"] for name, item in databases.items()} == {
        "harbour": "local",
        "library": "local",
        "school_meals": "bird",
        "ski_resorts": "bird",
    }


def test_data_source_of_a_row_is_its_own_corpus(built):
    from pyarrow import parquet

    rows = parquet.read_table(built.folder / "data/exports/skyrl/eval.parquet").to_pylist()
    found = {(row["extra_info"]["database_name"], row["data_source"]) for row in rows}
    assert found >= {
        ("library", "answerkey/local"),
        ("library", "answerkey/variant"),
        ("ski_resorts", "answerkey/bird"),
    }


def test_card_tells_of_every_corpus_and_licence(built):
    from huggingface_hub import DatasetCard

    card = DatasetCard.load(built.folder / "data/exports/huggingface/README.md")
    assert card.data.license == ["other", "cc-by-sa-4.0", "mit"]
    for words in (
        "questions of `local` and `bird` and `variant`",
        "Questions of `bird`: train.json, dev.json. Licence: cc-by-sa-4.0.",
        "2 copied from `bird`, 2 made from SQL text of `local`",
    ):
        assert words in card.text
