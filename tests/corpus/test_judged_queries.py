"""A correction by a hash, and a verdict, hold where their queries answer as they were judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import hash_question
from tests.shared.project_world import World, dump

TEXT = "Which ships sail from a Swedish port?"
GOLD = "SELECT name FROM ship WHERE port_id = 3"
ROWS = "SELECT name FROM ship WHERE port_id = 1"
COUNT_TEXT = "How many ships lie in the first two ports?"
COUNT = "SELECT count(*) FROM ship WHERE port_id < 3"
TIE_TEXT = "Which ship made one of the longest voyages of 2001?"
TIE = "SELECT year FROM voyage WHERE ship_id = 3 ORDER BY id / 100 LIMIT 1"
TIED = "SELECT year FROM voyage WHERE ship_id = 3 ORDER BY id / 100, id DESC LIMIT 1"
ORDER_TEXT = "Name the captains, the oldest first."
ORDER = "SELECT name FROM captain ORDER BY age"
ORDERED = "SELECT name FROM captain ORDER BY age DESC"
ASKED = {TEXT: GOLD, COUNT_TEXT: COUNT, TIE_TEXT: TIE, ORDER_TEXT: ORDER}
SOURCE = {"source": "model:reader", "date": "2026-03-01"}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.write_questions("train_spider.json", "harbour", [*ASKED.items()])
    world.change("corpora.local.corrections", "read")
    world.drop_targets()
    return world


def correct(world: World, text: str, sql: str, said: dict[str, Any] | None, **about: Any) -> None:
    """A correction, by a hash unless `about` says otherwise; and, unless `said` is None, the
    verdict about gold that goes with it."""
    place = {"file": "train_spider.json", "index": 0, "sha256": hash_question(text, ASKED[text])}
    replacement = {"action": "replace", "replacement": {"gold_sql": sql}}
    entry = {"database": "harbour", **(about or place), **replacement, "reason": "Read.", **SOURCE}
    folder = world.folder / "data"
    for name in ("corrections", "verdicts"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "corrections/read.yaml").write_text(dump([entry]), encoding="utf-8")
    if said is not None:
        names = {"corpus": "local", "database_name": "harbour", "verdict": "wrong"}
        line = {**names, **place, "reason": "Read.", **SOURCE, "sql": sql, **said}
        (folder / "verdicts/read.jsonl").write_text(f"{json.dumps(line)}\n", encoding="utf-8")


def load(world: World, text: str) -> dict[str, Any]:
    world.run("download_databases", "load_questions")
    loaded = world.lines("data/interim/questions.jsonl")
    (found,) = [question for question in loaded if question["question_text"] == text]
    return found


HOLDS: list[tuple[str, str, dict[str, Any] | None]] = [
    (TEXT, ROWS, {"answers": "other"}),
    (TEXT, ROWS, {}),
    (TEXT, ROWS, None),
    (TEXT, "SELECT name FROM ship WHERE id > 4 ORDER BY name DESC", {"answers": "same"}),
    (TEXT, "SELECT name FROM ship WHERE id > 99", {"answers": "other", "void": True}),
    (ORDER_TEXT, ORDERED, {"answers": "other"}),
    (TIE_TEXT, TIED, {"answers": "same"}),
]
DOES_NOT_HOLD: list[tuple[str, str, dict[str, Any] | None, str]] = [
    (TEXT, "SELECT wage FROM ship", {"answers": "other"}, "it fails here: no such column: wage"),
    (TEXT, "SELECT wage FROM ship", None, "it fails here: no such column: wage"),
    (TEXT, "DELETE FROM ship", None, "it fails here: "),
    (TEXT, ROWS, {"answers": "same"}, "its answer here is other than the one of the corpus"),
    (TEXT, f"{GOLD} AND id > 0", {"answers": "other"}, "its answer here is the same as the one"),
    (ORDER_TEXT, ORDERED, {"answers": "same"}, "its answer here is other than the one"),
    (TEXT, "SELECT name FROM ship WHERE name = 'SUN'", None, "its answer here has no row, or only"),
    (
        COUNT_TEXT,
        "SELECT count(*) FROM ship WHERE port_id IN ('A', 'B')",
        {},
        "has no row, or only NULL",
    ),
    (TEXT, "SELECT max(name) FROM ship WHERE id > 99", {"answers": "other"}, "has no row, or only"),
    (TEXT, ROWS, {"answers": "other", "void": True}, "has rows, and it had no row, or only NULL"),
]


@pytest.mark.parametrize(("text", "sql", "said"), HOLDS)
def test_correction_that_comes_out_as_it_was_judged_is_applied(world, text, sql, said):
    correct(world, text, sql, said)
    found = load(world, text)
    assert (found["gold_sql"], found["source"]["correction"]["reason"]) == (sql, "Read.")
    assert world.json("data/interim/judged/unconfirmed.json") == []


@pytest.mark.parametrize(("text", "sql", "said", "words"), DOES_NOT_HOLD)
def test_correction_that_comes_out_otherwise_is_not_applied_and_told(
    world, capsys, text, sql, said, words
):
    correct(world, text, sql, said)
    found = load(world, text)
    assert (found["gold_sql"], "correction" in found["source"]) == (ASKED[text], False)
    note = found["source"]["unconfirmed"]
    assert words in note.pop("here")
    assert note == {"sql": sql, "reason": "Read.", **SOURCE}
    (listed,) = world.json("data/interim/judged/unconfirmed.json")
    assert (listed["question_text"], listed["sql"], listed["reason"]) == (text, sql, "Read.")
    log = capsys.readouterr().err
    assert "1 correction by hash not applied" in log
    assert words in log


def test_correction_that_quotes_its_question_is_applied_whatever_it_answers(world):
    empty = "SELECT name FROM ship WHERE name = 'SUN'"
    correct(world, TEXT, empty, None, question=TEXT)
    assert load(world, TEXT)["gold_sql"] == empty


def test_other_rows_withdraw_a_correction_and_execute_that_database_alone(world):
    correct(world, TEXT, ROWS, {"answers": "other"})
    assert load(world, TEXT)["gold_sql"] == ROWS
    shard = world.folder / "data/interim/judged/queries/harbour.jsonl"
    made = shard.stat().st_mtime_ns
    world.run("load_questions")
    assert shard.stat().st_mtime_ns == made
    sql = (world.folder / "corpus/database/harbour/schema.sql").read_text(encoding="utf-8")
    world.write_database("harbour", sql + "UPDATE ship SET port_id = 2 WHERE port_id = 1;")
    assert load(world, TEXT)["gold_sql"] == GOLD


def test_question_of_a_withdrawn_correction_is_left_out_and_has_no_verdict(world):
    correct(world, COUNT_TEXT, "SELECT count(*) FROM ship WHERE port_id IN ('A', 'B')", {})
    world.run_to("select_questions")
    joined = {each["question_text"]: each for each in world.lines("data/interim/joined.jsonl")}
    found = joined[COUNT_TEXT]
    flags = {flag["code"]: flag["evidence"] for flag in found["flags"]}
    assert (found["gold_sql"], found["gold_answer"]) == (COUNT, 4)
    assert "judged_wrong" not in flags
    assert flags["unconfirmed"]["judgement"] == "correction"
    assert 0 < found["answer_risk"] < 0.5
    excluded = world.lines("data/interim/selection/excluded.jsonl")
    reasons = {each["question_id"]: each["reason"] for each in excluded}
    assert reasons[found["question_id"]] == "unconfirmed"


@pytest.mark.parametrize(
    ("word", "sql", "said", "holds"),
    [
        ("wrong", f"{GOLD} OR id = 1", "same", False),
        ("wrong", f"{GOLD} OR id = 1", "other", True),
        ("ambiguous", f"{GOLD} OR id = 1", "same", False),
        ("ambiguous", f"{GOLD} AND id > 0", "same", True),
        ("wrong", "SELECT wage FROM ship", "same", False),
    ],
)
def test_verdict_that_quotes_its_question_says_what_its_query_answers_here(
    world, word, sql, said, holds
):
    names = {"corpus": "local", "database_name": "harbour", "question_text": TEXT}
    line = {**names, "gold_sql": GOLD, "verdict": word, "reason": "Read.", **SOURCE}
    line |= {"sql": sql, "answers": said}
    (world.folder / "data/verdicts").mkdir(parents=True)
    (world.folder / "data/verdicts/kim.jsonl").write_text(json.dumps(line), encoding="utf-8")
    world.change("corpora.local.corrections", None)
    world.run_to("compare_questions")
    joined = {each["question_text"]: each for each in world.lines("data/interim/joined.jsonl")}
    codes = {flag["code"] for flag in joined[TEXT]["flags"]}
    assert ("unconfirmed" in codes) is not holds
    assert any(code.startswith("judged_") for code in codes) is holds
    assert (joined[TEXT]["answer_risk"] == 0.0) is (holds and said == "same")
