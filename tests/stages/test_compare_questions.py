"""compare_questions: every kind of likeness, through the stage, and nothing where there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.paths import CORRECTIONS
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
    (tmp_path / CORRECTIONS).mkdir(parents=True)
    text, sql = TRAIN[2]
    decision = {"action": "exclude", "reason": "Wrong."}
    (tmp_path / CORRECTIONS / "tried.yaml").write_text(
        yaml.safe_dump([{"database": "harbour", "question": text, "gold_sql": sql} | decision])
    )
    world.change("corpora.local.corrections", "tried")
    world.change("corpora.spider.corrections", None)
    world.change("select_questions.targets.min_questions", None)
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


@pytest.mark.slow
def test_questions_of_held_out_sets_are_flagged(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """The set has no database; its train questions are not held out, nor are its own in it."""
    held_out = [
        ("Who sails?", "SELECT name FROM captain"),
        ("how many ships are there", "SELECT count(id) FROM ship"),
        ("What is the name of every ship heavier than 60?", HEAVY.format(60)),
        ("Name the ships that are called Sun.", "select id\nfrom ship where name = 'Sun';"),
    ]
    world.write_questions("public.json", "elsewhere", held_out)
    world.write_questions("public_train.json", "elsewhere", [TRAIN[5]])
    questions = {"train": ["public_train.json"], "validation": ["public.json"]}
    entry = {"origin": "directory", "root": "corpus", "db_list": "all"}
    world.params["corpora"]["public"] = {**entry, "questions": questions}
    world.change("load_questions.held_out", ["public", "local"])
    world.run_to("compare_questions")
    found = {
        record["question_id"]: flag["evidence"]
        for record in world.lines("data/interim/joined.jsonl")
        for flag in record["flags"]
        if flag["code"] == "overlap"
    }
    assert {(one["corpus"], one["file"]) for one in found.values()} == {("public", "public.json")}
    assert {
        question_id: (one["index"], one["text_similarity"], one["sql_similarity"])
        for question_id, one in found.items()
    } == {
        "harbour_train_000": (1, 1.0, 0.947),
        "harbour_train_001": (2, 0.978, 0.974),
        "harbour_train_004": (3, 0.733, 1.0),
        "harbour_train_006": (3, 0.746, 1.0),
        "harbour_train_007": (3, 0.746, 1.0),
        "marina_eval_000": (1, 1.0, 0.947),
        "marina_eval_001": (2, 0.978, 0.974),
    }
    assert "7 overlap with held-out sets (public 7)\n" in capsys.readouterr().err


FIRST = ("How long is a voyage?", "SELECT sum(days) FROM voyage, ship")
BOOK = "SELECT pages FROM book WHERE title = 'Ice'"
LAST = ("When is a voyage?", "SELECT sum(year) FROM voyage, ship")


@pytest.fixture
def risky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Two questions of the product whose query joins tables without a condition."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.write_flag_precision({"cross_join": 80})
    world.change("select_questions.policies.cross_join", "exclude")
    for flag in ("latent_ambiguity", "weak_answer"):
        world.change(f"select_questions.policies.{flag}", "off")
    world.drop_targets()
    world.write_questions("train_spider.json", "harbour", [FIRST, LAST])
    world.write_questions("dev.json", "library", [("How long is Ice?", BOOK)])
    return world


def write_verdict(world: World, verdict: str, gold_sql: str = FIRST[1]) -> None:
    names = {"corpus": "local", "database_name": "harbour", "question_text": FIRST[0]}
    said = {"verdict": verdict, "reason": "Seen.", "source": "person:kim", "date": "2026-03-01"}
    path = world.folder / "data/verdicts/kim.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**names, "gold_sql": gold_sql, **said}) + "\n")


def read_risks(world: World, name: str) -> dict[str, tuple[float, list[str]]]:
    """Risk and flags of the two questions in a sidecar of the product, by their number."""
    return {
        record["question_id"][-1]: (
            record["answer_risk"],
            [flag["code"] for flag in record["flags"] if flag["code"] not in SHARED],
        )
        for record in world.lines(f"data/questions/{name}.jsonl")
        if record["question_id"].startswith("harbour_train")
    }


def test_risk_and_verdicts_reach_the_product(
    risky: World, capsys: pytest.CaptureFixture[str]
) -> None:
    write_verdict(risky, "right")
    risky.run_to("export_dataset")
    assert read_risks(risky, "audit") == {"0": (0.0, ["cross_join", "judged_right"])}
    assert read_risks(risky, "excluded") == {"1": (0.802, ["cross_join", "answer_risk"])}
    said = capsys.readouterr().err
    assert "compare_questions: 1 question with an answer risk of 0.65 or more\n" in said
    assert "compare_questions: 1 verdict, 0 verdicts of other databases\n" in said
    write_verdict(risky, "wrong")
    risky.run_from("compare_questions")
    found = read_risks(risky, "excluded")
    assert found["0"] == (1.0, ["cross_join", "judged_wrong"])
    write_verdict(risky, "right", "SELECT 2")
    risky.run_from("compare_questions")
    assert read_risks(risky, "excluded")["0"] == found["1"]
    assert "1 void verdict" in capsys.readouterr().err


def test_verdicts_go_with_the_list_of_corrections_of_their_name(
    risky: World, capsys: pytest.CaptureFixture[str]
) -> None:
    write_verdict(risky, "wrong")
    lists = risky.folder / "data/corrections"
    lists.mkdir(parents=True, exist_ok=True)
    (lists / "kim.yaml").write_text("[]\n")
    risky.run_to("compare_questions")
    flags = {r["question_id"]: r["flags"] for r in risky.lines("data/interim/joined.jsonl")}
    assert "judged_wrong" not in [each["code"] for each in flags["harbour_train_000"]]
    said = capsys.readouterr().err
    assert "compare_questions: verdicts of lists of corrections that no corpus takes: kim\n" in said
    risky.change("corpora.local.corrections", "kim")
    risky.run_to("compare_questions")
    flags = {r["question_id"]: r["flags"] for r in risky.lines("data/interim/joined.jsonl")}
    assert "judged_wrong" in [each["code"] for each in flags["harbour_train_000"]]


@pytest.mark.slow
def test_at_risk_is_recorded_or_excludes_and_is_a_metric(risky: World) -> None:
    risky.change("select_questions.policies.cross_join", "flag")
    risky.change("select_questions.policies.answer_risk", "flag")
    risky.run_to("export_dataset")
    assert read_risks(risky, "audit").keys() == {"0", "1"}
    assert risky.json("metrics/dataset.json")["at_risk"] == 2
    risky.change("select_questions.policies.answer_risk", "exclude")
    risky.run_from("select_questions")
    reasons = [record["reason"] for record in risky.lines("data/questions/excluded.jsonl")]
    assert reasons == ["answer_risk", "answer_risk"]
    risky.change("compare_questions.min_answer_risk", 0.9)
    risky.run_from("compare_questions")
    assert read_risks(risky, "audit")["1"] == (0.802, ["cross_join"])
