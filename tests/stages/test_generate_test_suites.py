"""generate_test_suites: every question that has an answer gets a suite, made once."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from answerkey.base import records
from answerkey.base.errors import InputError
from answerkey.base.records import hash_file, write_jsonl
from answerkey.engines.answers import answer_rows
from answerkey.reward import explain_score, score_sql
from answerkey.suites import database_suites
from answerkey.suites.pool import make_suites
from tests.shared.checkout import hash_tree
from tests.shared.project_world import World

SHARDS = "data/interim/test_suites"
SUITES = "data/test_suites"


@pytest.fixture
def world(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def read_records(world: World) -> list[dict]:
    return [
        record
        for name in ("harbour", "library")
        for record in world.lines(f"{SHARDS}/{name}.jsonl")
    ]


def test_every_answered_question_has_a_record_whose_gold_answers_are_those_of_its_gold(world):
    world.run("generate_test_suites")
    answered = {
        record["question_id"]: record
        for name in ("harbour", "library")
        for record in world.lines(f"data/interim/audit/{name}.jsonl")
    }
    records = read_records(world)
    parsed = {
        record["question_id"]
        for name in ("harbour", "library")
        for record in world.lines(f"data/interim/parsed/{name}.jsonl")
        if "reason" not in record
    }
    assert [r["question_id"] for r in records] == [name for name in answered if name in parsed]
    gold = {r["question_id"]: r["gold_sql"] for r in world.lines("data/interim/splits.jsonl")}
    assert sum(len(record["databases"]) for record in records) > len(records)
    for record in records:
        for database in record["databases"]:
            path = world.folder / database["path"]
            assert hash_file(path) == database["sha256"]
            with closing(sqlite3.connect(path)) as connection:
                rows = connection.execute(gold[record["question_id"]]).fetchall()
            gold_rows = answer_rows(database["gold_answer"])
            assert sorted(rows, key=repr) == sorted(gold_rows, key=repr)
    manifest = world.json(f"{SUITES}/manifest.json")
    files = hash_tree(world.folder / SUITES, "harbour", "library")
    assert manifest == files
    score = [r["mutation_score"] for r in records if r["mutation_score"] and not r["no_suite"]]
    assert all(0 <= share <= 1 for one in score for share in one.values())
    assert sum(one["suite"] for one in score) > sum(one["database"] for one in score)
    assert all(bool(record["databases"]) is (record["no_suite"] is None) for record in records)


def test_wrong_queries_that_the_database_accepts_are_told_by_the_suite(world):
    world.change("generate_test_suites.pool", 30)
    world.run("generate_test_suites")
    questions = {r["question_id"]: r for r in world.lines("data/interim/splits.jsonl")}
    by_sql = {questions[r["question_id"]]["gold_sql"]: r for r in read_records(world)}
    gold = "SELECT ship.name FROM ship WHERE ship.weight > 10"
    record = by_sql[gold]
    known = {"database_name": "harbour", "order_matters": False}
    answer = ["Tern", "Sun", "Ruby", "Kite", "Wren", "Alda"]
    assert score_sql(gold, answer, **known, test_suite=record["databases"]) == 1.0
    for wrong in ("SELECT ship.name FROM ship", "SELECT ship.name FROM ship WHERE weight > 8"):
        assert score_sql(wrong, answer, **known) == 1.0
        assert score_sql(wrong, answer, **known, test_suite=record["databases"]) == 0.0
        explanation = explain_score(wrong, answer, **known, test_suite=record["databases"])
        assert explanation.database in {one["path"] for one in record["databases"]}
    by_heart = "VALUES " + ", ".join(f"('{name}')" for name in answer)
    assert score_sql(by_heart, answer, **known, test_suite=record["databases"]) == 0.0


@pytest.mark.slow
def test_bytes_are_the_same_for_any_number_of_workers(world, tmp_path):
    world.run("generate_test_suites")
    one = hash_tree(tmp_path, SHARDS, SUITES)
    for workers in (2, 8):
        shutil.rmtree(tmp_path / SHARDS)
        shutil.rmtree(tmp_path / SUITES)
        world.change("execution.workers", workers)
        world.run("generate_test_suites")
        assert hash_tree(tmp_path, SHARDS, SUITES) == one


def test_damaged_suite_alone_is_made_again(world, capfd):
    some = next((world.folder / SUITES / "library").glob("*.sqlite"))
    whole = some.read_bytes()
    some.write_bytes(whole + b"!")
    world.run("generate_test_suites")
    assert "suites of 1 made" in capfd.readouterr().err
    assert some.read_bytes() == whole


@pytest.mark.slow
def test_only_what_changed_is_made_again(world, capfd):
    def run() -> str:
        world.run("generate_test_suites")
        return capfd.readouterr().err

    assert "suites of 0 made" in run()
    some = next((world.folder / SUITES / "library").glob("*.sqlite"))
    some.write_bytes(some.read_bytes() + b"!")
    assert "suites of 1 made" in run()
    assert "suites of 0 made" in run()
    world.change("compare_questions.min_mutation_score", 0.9)
    assert "suites of 0 made" in run()
    world.change("generate_test_suites.seed", 21)
    assert "suites of 2 made" in run()
    (world.folder / SUITES / "gone").mkdir()
    assert "suites of 0 made" in run()
    assert not (world.folder / SUITES / "gone").exists()


def test_question_with_several_right_answers_has_no_suite(world):
    splits = world.lines("data/interim/splits.jsonl")
    splits[0]["source"]["grading_method"] = "subset,=,2"
    write_jsonl(world.folder / "data/interim/splits.jsonl", splits)
    world.run("generate_test_suites")
    first, second, *_ = read_records(world)
    assert (first["mutation_score"], first["databases"]) == (None, [])
    assert second["databases"]


@pytest.mark.parametrize(
    ("models", "is_used"),
    [
        ((5, 4), False),
        pytest.param((5, 5), True, marks=pytest.mark.slow),
        pytest.param((4, 1), True, marks=pytest.mark.slow),
    ],
)
def test_variant_on_which_most_models_agree_otherwise_is_not_used(world, capfd, models, is_used):
    """The models all have the rows of gold on the real database."""
    world.run("generate_test_suites")
    before = {record["question_id"]: record for record in read_records(world)}
    gold, otherwise = (f"SELECT ship.name FROM ship WHERE weight > {least}" for least in (10, 8))
    (asked,) = (
        record["question_id"]
        for record in world.lines("data/interim/splits.jsonl")
        if record["gold_sql"] == gold.replace("weight", "ship.weight")
    )
    queries = [
        sql for sql, count in zip((otherwise, gold), models, strict=True) for _ in range(count)
    ]
    for place, sql in enumerate(queries):
        samples = [f"```sql\n{sql}\n```", f"```sql\n{sql}\n```", "I do not know."]
        rollout = {"question_id": asked, "completions": samples}
        write_jsonl(world.folder / f"data/rollouts/m{place}.jsonl", [rollout])
    capfd.readouterr()
    world.run("generate_test_suites")
    assert "suites of 1 made" in capfd.readouterr().err
    after = {record["question_id"]: record for record in read_records(world)}
    assert after[asked]["databases"]
    same = []
    for database in after[asked]["databases"]:
        with closing(sqlite3.connect(world.folder / database["path"])) as connection:
            rows, others = (sorted(connection.execute(sql)) for sql in (gold, otherwise))
        same.append(rows == others)
    assert all(same) is not is_used
    if is_used:
        assert after == before
    else:
        latent = after[asked]["latent_ambiguity"]
        assert (latent["reading"], latent["sql"]) == ("models_agree", otherwise)


# --- many questions of one database


LATER = ("score_rollouts", "compare_questions", "classify_difficulty", "select_questions")


@pytest.fixture
def cut(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose databases are cut after few questions, before suites are made."""
    monkeypatch.setattr(records, "SHARD_QUESTIONS", 12)
    world.change("generate_test_suites", {"pool": 1, "max_neighbors": 5})
    world.run("compute_gold_answers", "parse_gold_sql", "audit_gold_answers")
    return world


def list_suites(world: World) -> list[str]:
    folder = world.folder / SHARDS
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jsonl"))


@pytest.mark.slow
def test_suites_of_a_large_database_are_the_same_for_any_number_of_workers(
    cut: World, tmp_path: Path
) -> None:
    made = []
    for workers in (1, 2, 3):
        shutil.rmtree(tmp_path / SHARDS)
        shutil.rmtree(tmp_path / SUITES)
        cut.change("execution.workers", workers)
        cut.run("generate_test_suites")
        made.append(hash_tree(tmp_path, SHARDS, SUITES))
    assert made[0] == made[1] == made[2]
    assert {"harbour.jsonl", "harbour/0002.jsonl", "library.jsonl"} < {*list_suites(cut)}
    files = {path for path in made[0] if path.endswith(".sqlite")}
    assert {f"{SUITES}/{path}" for path in cut.json(f"{SUITES}/manifest.json")} == files
    suites = [record for path in list_suites(cut) for record in cut.lines(f"{SHARDS}/{path}")]
    assert {database["path"] for suite in suites for database in suite["databases"]} == files
    cut.run(*LATER, "validate_dataset", "export_dataset")
    asked = [record["question_id"] for record in cut.lines("data/questions/test_suites.jsonl")]
    named = [
        question["question_id"]
        for split in ("train", "eval")
        for question in cut.json(f"data/questions/questions_{split}.json")
    ]
    assert sorted(asked) == sorted(named)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra `ray`")
def test_suites_of_a_large_database_are_the_same_on_ray(cut: World) -> None:
    made = []
    for runner in ("local", "ray"):
        shutil.rmtree(cut.folder / SHARDS)
        shutil.rmtree(cut.folder / SUITES)
        cut.change("execution.runner", runner)
        cut.run("generate_test_suites")
        made.append(hash_tree(cut.folder, SHARDS, SUITES))
    assert made[0] == made[1]


@pytest.mark.slow
def test_damaged_suite_of_a_large_database_costs_its_shard_alone(
    cut: World, capfd: pytest.CaptureFixture[str]
) -> None:
    cut.run("generate_test_suites")
    before = hash_tree(cut.folder, SHARDS, SUITES)
    inodes = {path: (cut.folder / path).stat().st_ino for path in before}
    (cut.folder / SUITES / "harbour/harbour.0002.01.sqlite").write_bytes(b"!")
    (cut.folder / SUITES / "harbour/harbour.0099.01.sqlite").touch()
    capfd.readouterr()
    cut.run("generate_test_suites")
    assert "suites of 1 made" in capfd.readouterr().err
    assert hash_tree(cut.folder, SHARDS, SUITES) == before
    again = {path for path in before if (cut.folder / path).stat().st_ino != inodes[path]}
    assert f"{SHARDS}/harbour/0002.jsonl" in again
    assert again <= {
        f"{SHARDS}/harbour/0002.jsonl",
        f"{SUITES}/manifest.json",
        *(path for path in before if "harbour.0002." in path),
    }


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_shard_whose_worker_died_is_tried_again_alone(
    cut: World, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], workers: int
) -> None:
    """Two die once, and one of them again."""
    cut.change("execution.workers", workers)
    cut.run("generate_test_suites")
    whole = hash_tree(cut.folder, SHARDS, SUITES)

    def make_or_die(path, schema, questions, *, shard, **options):
        if (left := [*Path("kills").iterdir()]) and shard.number > 1:
            left[0].unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return make_suites(path, schema, questions, shard=shard, **options)

    monkeypatch.setattr(database_suites, "make_suites", make_or_die)
    (cut.folder / "kills").mkdir()
    for kills in (3, 2):
        shutil.rmtree(cut.folder / SHARDS)
        shutil.rmtree(cut.folder / SUITES)
        for number in range(kills):
            (cut.folder / f"kills/{number}").touch()
        if kills == 3:
            asked = r"harbour: .* suites of \d+ questions, harbour_train_012 to .* signal 9"
            with pytest.raises(InputError, match=asked):
                cut.run("generate_test_suites")
            assert set(hash_tree(cut.folder, SHARDS, SUITES).items()) < {*whole.items()}
            capfd.readouterr()
        cut.run("generate_test_suites")
        assert "suites of 1 made" in capfd.readouterr().err or kills == 2
        assert hash_tree(cut.folder, SHARDS, SUITES) == whole
