"""Runs over databases: each question has its record, whatever happens to a process; which shards
are fresh, what torn keys cost, and what code makes shards again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from answerkey.base import records
from answerkey.base.errors import InputError
from answerkey.base.records import Shard, cut_in_shards, list_shards, read_shards
from answerkey.engines.database import OVERDUE_STATUS
from answerkey.shards import runs
from answerkey.shards.runs import (
    DatabaseWork,
    QueryRun,
    ShardDirectory,
    count_reasons,
    list_set_aside,
)
from tests.shared.paths import ROOT
from tests.shared.project_world import World

OVERDUE = {"reason": "overdue"}
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


def answer(task):
    """Each query in capitals; what is executed is noted in the file that is the task's context."""
    outcomes = []
    for query in task.queries:
        with Path(task.context).open("a") as file:
            file.write(f"{task.shard.database_name} {query}\n")
        if query == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if query == "overdue":
            os._exit(OVERDUE_STATUS)
        if query == "memory":
            raise MemoryError
        if query == "fail":
            raise ValueError("the function fails")
        outcomes.append({"answer": str(query).upper()})
    return outcomes


def answer_each(task):
    return task.map_queries(answer_one)


def answer_one(query):
    sql, _ = query
    if sql == "fail":
        raise ZeroDivisionError("the function fails")
    return {"answer": sql.upper()}


class Runner:
    """A place for shards, and runs over databases given as {name: queries}."""

    def __init__(self, folder):
        self.folder = folder
        self.notes = folder / "executed"

    def run(self, databases, *, workers=1, key="key", function=answer):
        self.notes.write_text("")
        run = QueryRun(self.folder / "out", function, OVERDUE)
        run.run(self.works(databases, key), databases=len(databases), workers=workers)
        return run

    def works(self, databases, key):
        asked = (
            {"database_name": name, "question": (f"{name}_{place}", query)}
            for name, queries in databases.items()
            for place, query in enumerate(queries)
        )
        empty = ((Shard(name), []) for name, queries in databases.items() if not queries)
        for shard, records_ in (*cut_in_shards(asked), *empty):
            questions = [record["question"] for record in records_]
            made_from = f"{key} {questions}"
            yield DatabaseWork(shard, Path("none"), made_from, questions, str(self.notes))

    def executed(self):
        return sorted(self.notes.read_text().splitlines())

    def shard(self, name):
        out = self.folder / "out"
        return list(read_shards(out, list_shards(out, name)))

    def bytes(self):
        out = self.folder / "out"
        files = (path for path in out.rglob("*") if path.is_file())
        return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_QUERIES_PER_TASK", 8)
    return Runner(tmp_path)


def test_every_question_gets_a_record_in_its_place(world):
    run = world.run({"car": ["a", "b", "a"], "pet": ["b"]})
    assert world.shard("car") == [
        {"question_id": "car_0", "answer": "A"},
        {"question_id": "car_1", "answer": "B"},
        {"question_id": "car_2", "answer": "A"},
    ]
    assert run.shards == [Shard("car"), Shard("pet")]


def test_same_query_is_executed_once_in_a_database(world):
    run = world.run({"car": ["a", "b", "a", "a"], "pet": ["a"]})
    assert world.executed() == ["car a", "car b", "pet a"]
    assert run.executed == 3


def test_fresh_database_costs_nothing(world):
    world.run({"car": ["a"], "pet": ["b"]})
    before = world.bytes()
    run = world.run({"car": ["a"], "pet": ["b"]})
    assert (run.executed, world.executed(), world.bytes()) == (0, [], before)
    run = world.run({"car": ["a"], "pet": ["b", "c"]})
    assert (run.executed, world.executed()) == (2, ["pet b", "pet c"])
    run = world.run({"car": ["a"], "pet": ["b", "c"]}, key="another")
    assert run.executed == 3


def test_database_without_questions_has_an_empty_shard(world):
    run = world.run({"car": [], "pet": ["a"]})
    assert world.shard("car") == []
    assert ({*run.shards}, run.executed) == ({Shard("car"), Shard("pet")}, 1)
    assert world.run({"car": [], "pet": ["a"]}).executed == 0


@pytest.mark.parametrize(
    ("query", "how", "workers"),
    [("kill", "killed by signal 9", 2), ("memory", "out of memory", 1)],
)
def test_query_that_ends_every_process_is_named_and_no_shard_written(world, query, how, workers):
    """The other databases have theirs, and the next run goes on from there."""
    car = [f"q{number}" for number in range(14)]
    databases = {"car": [*car[:4], query, *car[4:], query], "pet": ["a"], "sea": ["b", query]}
    with pytest.raises(InputError) as caught:
        world.run(databases, workers=workers)
    message = str(caught.value)
    assert "The process of 2 queries ended" in message
    assert f"  car_4, car_15 of database car: {how}\n" in message
    assert f"  sea_1 of database sea: {how}\n" in message
    assert "data/corrections" in message
    assert world.bytes().keys() == {"pet.jsonl"}
    run = world.run({**databases, "car": car, "sea": ["b"]}, workers=workers)
    assert run.executed == 15
    assert "pet a" not in world.executed()
    assert sorted(world.bytes()) == ["car.jsonl", "pet.jsonl", "sea.jsonl"]


def test_query_that_is_overdue_is_set_aside_alone(world):
    """The other queries of its task, and of tasks that were under way, have their answers."""
    car = [f"q{number}" for number in range(14)]
    databases = {"car": [*car[:4], "overdue", *car[4:]], "pet": ["a", "overdue"]}
    run = world.run(databases, workers=2)
    outcomes = {record.pop("question_id"): record for record in world.shard("car")}
    assert outcomes.pop("car_4") == OVERDUE
    assert [outcome["answer"] for outcome in outcomes.values()] == [q.upper() for q in car]
    assert world.shard("pet") == [
        {"question_id": "pet_0", "answer": "A"},
        {"question_id": "pet_1", **OVERDUE},
    ]
    assert run.executed == 17


def answer_in_peace(task):
    """Kills its process where its task has other queries."""
    if len(task.queries) > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer(task)


def test_queries_that_end_well_alone_have_the_records_of_a_run_without_faults(world, tmp_path):
    databases = {"car": [f"q{number}" for number in range(14)], "pet": ["a"]}
    world.run(databases, workers=3, function=answer_in_peace)
    reference = Runner(tmp_path / "reference")
    reference.folder.mkdir()
    reference.run(databases)
    assert world.bytes() == reference.bytes()


def test_question_whose_outcome_is_known_executes_nothing(world):
    world.notes.write_text("")
    [work] = world.works({"car": ["a", "kill", "b"]}, "key")
    run = QueryRun(world.folder / "out", answer, OVERDUE)
    run.run([work._replace(known={"car_1": {"reason": "excluded"}})], databases=1, workers=1)
    assert world.shard("car") == [
        {"question_id": "car_0", "answer": "A"},
        {"question_id": "car_1", "reason": "excluded"},
        {"question_id": "car_2", "answer": "B"},
    ]
    assert (run.executed, world.executed()) == (2, ["car a", "car b"])


def test_error_says_which_query_it_is_about(world):
    with pytest.raises(ZeroDivisionError, match="the function fails") as caught:
        world.run({"car": [("a", 1), ("fail", "x" * 5000)]}, function=answer_each)
    [note] = caught.value.__notes__
    assert note.startswith("on a query of car: ('fail', 'xxx")
    assert len(note) < 1100
    world.run({"car": [("a", 1), ("b", 2)]}, function=answer_each)
    assert [record["answer"] for record in world.shard("car")] == ["A", "B"]


# --- many questions of one database


@pytest.fixture
def cut(world, monkeypatch):
    monkeypatch.setattr(records, "SHARD_QUESTIONS", 4)
    return world


MANY = [f"q{number}" for number in range(22)]


def test_large_database_has_the_records_that_one_shard_would_have(cut, tmp_path, monkeypatch):
    cut.run({"car": MANY, "pet": ["a"]})
    files = ["car.jsonl", *(f"car/000{number}.jsonl" for number in range(2, 7)), "pet.jsonl"]
    assert sorted(cut.bytes()) == files
    found = cut.shard("car")
    monkeypatch.setattr(records, "SHARD_QUESTIONS", 100)
    cut.run({"car": MANY, "pet": ["a"]})
    assert sorted(cut.bytes()) == ["car.jsonl", "pet.jsonl"]
    assert not (tmp_path / "out/car").exists()
    assert cut.shard("car") == found


@pytest.mark.parametrize("workers", [2, 3])
def test_large_database_has_the_same_bytes_for_any_number_of_workers(cut, tmp_path, workers):
    cut.run({"car": MANY})
    one = Runner(tmp_path / "one")
    one.folder.mkdir()
    one.run({"car": MANY}, workers=workers)
    assert one.bytes() == cut.bytes()


def test_question_that_comes_changes_or_goes_costs_its_shard_alone(cut):
    cut.run({"car": MANY})
    assert cut.run({"car": [*MANY, "new"]}).executed == 3
    assert cut.run({"car": [*MANY[:5], "other", *MANY[6:], "new"]}).executed == 4
    assert cut.run({"car": MANY[:20]}).executed == 4
    assert len(cut.bytes()) == 5


def test_shards_of_a_database_that_were_done_stay_when_the_run_fails(cut):
    with pytest.raises(InputError, match="car_13 of database car: killed by signal 9"):
        cut.run({"car": [*MANY[:13], "kill", *MANY[14:]]}, workers=2)
    assert len(cut.bytes()) == 5
    assert cut.run({"car": MANY}).executed == 4


# --- shards


SHIP = Shard("ship")
RECORDS = [{"question_id": "ship_train_000", "gold_answer": "é\0"}, {"question_id": "1"}]


@pytest.fixture
def reopen(tmp_path):
    """The shards as the next run finds them."""
    return lambda: ShardDirectory(tmp_path / "out")


def write_three(shards):
    for name in ("a", "b", "c"):
        shards.write_shard(Shard(name), f"key of {name}", [{"question_id": name}])
    return shards


def list_fresh(shards):
    return [name for name in ("a", "b", "c") if shards.is_fresh(Shard(name), f"key of {name}")]


def test_written_shard_is_fresh_now_and_in_the_next_run(reopen):
    shards = reopen()
    assert not shards.is_fresh(SHIP, "key")
    shards.write_shard(SHIP, "key", RECORDS)
    assert shards.is_fresh(SHIP, "key")
    assert reopen().is_fresh(SHIP, "key")
    assert list(read_shards(shards.directory, [SHIP])) == RECORDS


def test_other_key_is_stale(reopen):
    reopen().write_shard(SHIP, "key", RECORDS)
    assert not reopen().is_fresh(SHIP, "another key")
    assert not reopen().is_fresh(Shard("boat"), "key")


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda content: content + b" ", id="longer"),
        pytest.param(lambda content: content[:-1], id="torn"),
        pytest.param(lambda content: content.replace(b"ship", b"boat"), id="edited"),
    ],
)
def test_shard_that_is_not_as_it_was_made_is_stale(reopen, spoil):
    shards = reopen()
    shards.write_shard(SHIP, "key", RECORDS)
    path = shards.shard_path(SHIP)
    content = path.read_bytes()
    path.write_bytes(spoil(content))
    assert not reopen().is_fresh(SHIP, "key")
    path.write_bytes(content)
    assert reopen().is_fresh(SHIP, "key")


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_torn_line_of_keys_costs_its_shard_only(reopen, cut):
    keys = write_three(reopen()).keys_path
    keys.write_bytes(keys.read_bytes()[:-cut])
    shards = reopen()
    # Without its newline alone the last line is whole.
    assert list_fresh(shards) == (["a", "b", "c"] if cut == 1 else ["a", "b"])
    shards.write_shard(Shard("c"), "key of c", [{"question_id": "c"}])
    assert list_fresh(reopen()) == ["a", "b", "c"]


def test_strangers_are_removed_and_forgotten(reopen):
    shards = write_three(reopen())
    (shards.directory / "a.txt").touch()
    (shards.directory / ".b.jsonl.partial").touch()
    shards.keep_only([Shard("c"), Shard("a")])
    assert sorted(path.name for path in shards.directory.iterdir()) == ["a.jsonl", "c.jsonl"]
    assert list_fresh(reopen()) == ["a", "c"]
    names = [json.loads(line)["name"] for line in shards.keys_path.read_text().splitlines()]
    assert names == ["a", "c"]


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_shard_that_is_a_link_into_a_cache_is_replaced_and_not_written_through(
    reopen, tmp_path, link
):
    shards = reopen()
    shards.write_shard(SHIP, "old", RECORDS)
    path = shards.shard_path(SHIP)
    cached = tmp_path / "cached"
    content = path.read_bytes()
    path.rename(cached)
    cached.chmod(0o444)
    link(cached, path)
    shards = reopen()
    assert shards.is_fresh(SHIP, "old")
    shards.write_shard(SHIP, "new", [{"question_id": "new"}])
    assert cached.read_bytes() == content
    assert stat.S_IMODE(cached.stat().st_mode) == 0o444
    assert not path.is_symlink()
    assert list(read_shards(shards.directory, [SHIP])) == [{"question_id": "new"}]
    assert reopen().is_fresh(SHIP, "new")


def test_shard_whose_records_fail_stays_as_it_was(reopen):
    shards = reopen()
    shards.write_shard(SHIP, "old", RECORDS)

    def records():
        yield {"question_id": "new"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shards.write_shard(SHIP, "new", records())
    assert reopen().is_fresh(SHIP, "old")
    assert [path.name for path in shards.directory.iterdir()] == ["ship.jsonl"]


# --- code that changes


# What is changed: in which module, from what, to what.
ANSWERS_CHANGE = (
    "answerkey/engines/answers.py",
    "return [list(row) for row in rows]",
    "return [list(row) for row in rows][::-1]",
)
COLUMNS_CHANGE = ("answerkey/sql/parsed_query.py", "return sorted(", "return [] and sorted(")
AUDIT_CHANGE = (
    "answerkey/doubts/answers.py",
    'Finding("boolean_answer", {',
    'Finding("boolean_answer", {"changed": True, ',
)


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text, f"{path}: no {before}"
    path.write_text(text.replace(before, after), encoding="utf-8")


def execute(folder: Path, code: Path, stage: str) -> int:
    """Run a stage of some code in a folder; how many queries it says that it looked at."""
    done = subprocess.run(
        [sys.executable, "-m", f"stages.{stage}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return int(re.search(r" (\d+) quer(?:y|ies) (?:executed|parsed|audited)", done.stderr)[1])


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_changed_code_makes_the_shards_of_its_stage_again(tmp_path: Path, monkeypatch) -> None:
    world, code = tmp_path / "world", tmp_path / "code"
    world.mkdir()
    for package in ("answerkey", "stages"):
        shutil.copytree(ROOT / package, code / package)
    shutil.copy(ROOT / "dvc.yaml", code)
    monkeypatch.chdir(world)
    World(world).run_to("audit_gold_answers")
    answers, parsed, audit = (
        world / path
        for path in ("data/interim/gold_answers", "data/interim/parsed", "data/interim/audit")
    )
    made = read_files(answers)
    assert execute(world, code, "compute_gold_answers") == 0
    for stage, out, (module, before, after) in (
        ("parse_gold_sql", parsed, COLUMNS_CHANGE),
        ("audit_gold_answers", audit, AUDIT_CHANGE),
        ("compute_gold_answers", answers, ANSWERS_CHANGE),
    ):
        before_it = read_files(out)
        change(code / module, before, after)
        assert execute(world, code, stage) > 30
        assert read_files(out) != before_it
    assert execute(world, ROOT, "compute_gold_answers") > 30
    assert read_files(answers) == made


def test_questions_of_another_dialect_have_one_line_together(tmp_path):
    differs, fixed = {"dialect_differs": {"error": "x"}}, {"original": {"gold_sql": "SELECT 1"}}
    sources = [differs] * 14 + [differs | {"correction": fixed}, {}]
    questions = [{"question_id": f"car_{n}", "source": each} for n, each in enumerate(sources)]
    told = list_set_aside(questions)
    assert len(told) == 14
    shards = ShardDirectory(tmp_path / "out")
    failure = {"reason": "sql_error", "detail": "no such function"}
    records = [{"question_id": question["question_id"], **failure} for question in questions]
    shards.write_shard(Shard("car"), "key", records)
    reasons, failures = count_reasons(shards.directory, [Shard("car")], told=told)
    assert reasons == {"sql_error": 16}
    assert failures[0].startswith("14 questions set aside as dialect_differs: ")
    assert [line.rpartition("(")[2] for line in failures[1:]] == [
        "car_14, sql_error)",
        "car_15, sql_error)",
    ]


def test_failures_are_of_sql_and_are_told_in_one_line(tmp_path):
    shards = ShardDirectory(tmp_path / "out")
    failure = {"reason": "sql_error", "detail": "no such table:\x1b[2J\n" + "x" * 1000}
    chosen = {"reason": "excluded_by_curator", "detail": "not executed: it is wrong"}
    outcomes = [{"gold_answer": 7}, failure, chosen]
    records = [{"question_id": f"car_{n}", **outcome} for n, outcome in enumerate(outcomes)]
    shards.write_shard(Shard("car"), "key", records)
    reasons, [line] = count_reasons(shards.directory, [Shard("car")])
    assert reasons == {"": 1, "sql_error": 1, "excluded_by_curator": 1}
    assert line.startswith("SQL execution failed for car: no such table: [2J xxx")
    assert line.endswith("xxx (car_1, sql_error)")
    assert len(line) < 300
