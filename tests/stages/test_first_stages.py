"""download_databases, load_questions and assign_splits: what they write, and what they say."""

from __future__ import annotations

import json

import pytest

from answerkey.base.errors import InputError
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.loading import load_spider_questions
from answerkey.corpus.splits import assign_splits
from answerkey.sections.corpora import Download
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.project_world import World

LIMITS = Download(deadline_s=30)


def test_stage_writes_one_line_a_question_and_what_the_card_says_of_its_corpus(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.run("load_questions")
    (corpus,) = parse_corpora("local", world.params["corpora"])
    expected = load_spider_questions("all", corpus=corpus, limits=LIMITS)
    assert world.lines("data/interim/questions.jsonl") == expected
    train = sum(question["spider_split"] == "train" for question in expected)
    assert capsys.readouterr().err == (
        f"load_questions: {len(expected)} questions of 2 databases"
        f" ({train} train, {len(expected) - train} validation)\n"
    )
    (corpus,) = world.json("data/interim/corpora.json").values()
    assert corpus["rows"] == {"train_spider.json": train, "dev.json": len(expected) - train}


def test_rows_of_a_file_are_counted_whatever_databases_are_chosen(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("corpora.local.db_list", ["library"])
    world.run("load_questions")
    rows = world.json("data/interim/corpora.json")["local"]["rows"]
    assert rows["dev.json"] == len(world.lines("data/interim/questions.jsonl"))
    assert rows["train_spider.json"] == len(world.json("corpus/train_spider.json"))


def test_revision_that_is_no_commit_is_warned_about_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    content = pack_parquet([{"db_id": "shop", "query": "SELECT 1", "question": "?"}])
    repository = {"1" * 40: {"t.parquet": content}}
    questions = {"repo_id": "org/questions", "revision": "main"}
    world.change("corpora.spider.db_list", "all")
    world.change(
        "corpora.spider.questions",
        questions | {"files": {"train": ["t.parquet"], "validation": []}},
    )
    world.change("corpora.spider.corrections", None)
    world.change("corpus", "spider")
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        start({"org/questions": repository}, {"org/questions": {"main": "1" * 40}})
        world.run("load_questions")
    warning, summary = capsys.readouterr().err.splitlines()
    assert warning == (
        "load_questions: warning: corpus spider reads org/questions at 'main', which is no commit"
        " and may be another one tomorrow: pin it with"
        " `answerkey pin spider`"
    )
    assert summary.startswith("load_questions: 1 questions of 1 databases (1 train, 0 validation)")


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def test_stage_makes_what_is_missing_and_writes_the_schemas_of_all(world, capsys):
    world.run("download_databases")
    assert " 2 databases (2 made, 0 kept), " in capsys.readouterr().err
    (world.folder / "data/databases/library/library.sqlite").unlink()
    world.run("download_databases")
    assert " 2 databases (1 made, 1 kept), " in capsys.readouterr().err
    schemas = world.lines("data/interim/schemas.jsonl")
    assert [schema["database_name"] for schema in schemas] == ["harbour", "library"]
    names = [table["name"] for table in schemas[1]["tables"]]
    assert names == ["author", "shelf", "book", "loan"]


def test_stage_reads_questions_and_writes_splits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("select_questions.targets.min_questions", 3)
    pairs = [("a", "train"), ("b", "validation"), ("b", "validation")]
    questions = [{"database_name": name, "spider_split": split} for name, split in pairs]
    path = tmp_path / "data/interim/questions.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(question) + "\n" for question in questions))
    world.run("assign_splits")
    assert world.lines("data/interim/splits.jsonl") == assign_splits(questions)
    assert capsys.readouterr().err == "assign_splits: 3 questions: 1 train, 2 eval\n"
    world.change("select_questions.targets.min_questions", 4)
    with pytest.raises(InputError, match=r"has 3 questions, and .*min_questions asks for 4"):
        world.run("assign_splits")
