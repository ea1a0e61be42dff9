"""load_questions: one line a question, and a warning where a revision may move."""

from __future__ import annotations

from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.loading import load_spider_questions
from answerkey.sections.corpora import Download
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.project_world import World

LIMITS = Download(attempts=1, backoff_s=0, deadline_s=30)


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
