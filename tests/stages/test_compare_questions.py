"""compare_questions: every kind of likeness, through the stage, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.corpus.corrections import CORRECTIONS_DIR
from tests.shared.project_world import HARBOUR, World

COUNT = "SELECT count(*) FROM ship"
HEAVY = "SELECT name FROM ship WHERE weight > {}"
TRAIN = [
    ("How many ships are there?", COUNT),
    ("What is the name of every ship heavier than 50?", HEAVY.format(50)),
    ("How many ships are there?", "SELECT count(*) FROM captain"),  # a curator excludes it
    ("What do sailors earn?", "SELECT wage FROM ship"),  # no answer
    ("Which ships are called Sun?", "SELECT id FROM ship WHERE name = 'Sun'"),
    ("Which ships are called Sun?", "SELECT id FROM ship WHERE name = 'Tern'"),
    ("Give the ships called Sun.", "SELECT id FROM ship WHERE name = 'Sun'"),
    ("Give the ships called Sun.", "SELECT id FROM ship WHERE name = 'Sun'"),
]
EVAL = [
    ("How many ships are there?", COUNT),
    ("What is the name of every ship heavier than 70?", HEAVY.format(70)),
    ("What do sailors earn?", "SELECT wage FROM ship"),
]
OF_ALL = "schema_in_both_splits"
SHARED = {
    "conflicting_gold",
    "duplicate_question",
    "near_duplicate_question",
    "paraphrase_of",
    "question_in_both_splits",
    "template_in_both_splits",
    OF_ALL,
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """`harbour` and `marina` are of one schema, and in different splits; `library` is like none."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.write_database("marina", HARBOUR)
    world.write_questions("train_spider.json", "harbour", TRAIN)
    world.write_questions("dev.json", "marina", EVAL)
    path = tmp_path / "corpus/train_spider.json"
    alone = {"db_id": "library", "question": "Which books?", "query": "SELECT title FROM book"}
    path.write_text(json.dumps([*json.loads(path.read_text()), alone]))
    (tmp_path / CORRECTIONS_DIR).mkdir(parents=True)
    text, sql = TRAIN[2]
    decision = {"action": "exclude", "reason": "Wrong."}
    (tmp_path / CORRECTIONS_DIR / "tried.yaml").write_text(
        yaml.safe_dump([{"database": "harbour", "question": text, "gold_sql": sql} | decision])
    )
    world.change("corpora.local.corrections", "tried")
    world.run_to("compare_questions")
    return world


def read_flags(world: World) -> dict[str, dict[str, Any]]:
    """Evidence by question and code, of the questions that share something."""
    flags = {
        record["question_id"]: {
            flag["code"]: flag["evidence"] for flag in record["flags"] if flag["code"] in SHARED
        }
        for record in world.lines("data/interim/joined.jsonl")
    }
    return {question_id: found for question_id, found in flags.items() if found}


def test_every_likeness_is_found_and_no_other(world: World) -> None:
    found = {question_id: set(flags) for question_id, flags in read_flags(world).items()}
    same = {"question_in_both_splits", "template_in_both_splits", OF_ALL}
    near = {"near_duplicate_question", "template_in_both_splits", OF_ALL}
    assert found == {
        "harbour_train_000": same,
        "harbour_train_001": near,
        "harbour_train_004": {"conflicting_gold", OF_ALL},
        "harbour_train_005": {"conflicting_gold", OF_ALL},
        "harbour_train_006": {"paraphrase_of", OF_ALL},
        "harbour_train_007": {"duplicate_question", "paraphrase_of", OF_ALL},
        "marina_eval_000": same,
        "marina_eval_001": near,
    }


def test_evidence_names_the_other_side(world: World) -> None:
    flags = read_flags(world)
    first, second = flags["harbour_train_000"], flags["harbour_train_001"]
    assert first["question_in_both_splits"] == {"count": 1, "example": "marina_eval_000"}
    assert first["template_in_both_splits"]["example"] == "marina_eval_000"
    assert first[OF_ALL]["database"] == "marina"
    assert second["near_duplicate_question"]["other"] == "marina_eval_001"
    assert flags["marina_eval_000"][OF_ALL]["database"] == "harbour"
    assert flags["marina_eval_000"]["question_in_both_splits"]["count"] == 1


def test_similarity_to_reach_is_a_parameter(world: World) -> None:
    world.change("compare_questions.min_similarity", 1)
    world.run("compare_questions")
    found = {code for flags in read_flags(world).values() for code in flags}
    assert "near_duplicate_question" not in found
    assert "template_in_both_splits" in found


def test_log_counts_the_flags(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.run("compare_questions")
    assert capsys.readouterr().err == (
        "compare_questions: 8 questions share something with others (schema_in_both_splits 8,"
        " template_in_both_splits 4, conflicting_gold 2, near_duplicate_question 2,"
        " paraphrase_of 2, question_in_both_splits 2, duplicate_question 1)\n"
    )
