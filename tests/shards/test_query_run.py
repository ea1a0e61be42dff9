"""A run over databases: each question has its record, whatever happens to a process."""

import os
import signal
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.shards import runs
from answerkey.shards.runs import DatabaseWork, QueryRun, read_shards
from answerkey.sqlite.guard import OVERDUE_STATUS

OVERDUE = {"reason": "overdue"}
pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


def answer(task):
    """Each query in capitals; what is executed is noted in the file that is the task's context."""
    outcomes = []
    for query in task.queries:
        with Path(task.context).open("a") as file:
            file.write(f"{task.database_name} {query}\n")
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


class World:
    """A place for shards, and runs over databases given as {name: queries}."""

    def __init__(self, folder):
        self.folder = folder
        self.notes = folder / "executed"

    def run(self, databases, *, workers=1, key="key", function=answer):
        self.notes.write_text("")
        run = QueryRun(self.folder / "out", function, OVERDUE)
        run.run(self.works(databases, key), workers=workers)
        return run

    def works(self, databases, key):
        for name, queries in databases.items():
            questions = [(f"{name}_{place}", query) for place, query in enumerate(queries)]
            yield DatabaseWork(name, Path("none"), f"{key} {questions}", questions, str(self.notes))

    def executed(self):
        return sorted(self.notes.read_text().splitlines())

    def shard(self, name):
        return list(read_shards(self.folder / "out", [name]))

    def bytes(self):
        return {path.name: path.read_bytes() for path in (self.folder / "out").iterdir()}


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "_QUERIES_PER_TASK", 8)
    return World(tmp_path)


def test_every_question_gets_a_record_in_its_place(world):
    run = world.run({"car": ["a", "b", "a"], "pet": ["b"]})
    assert world.shard("car") == [
        {"question_id": "car_0", "answer": "A"},
        {"question_id": "car_1", "answer": "B"},
        {"question_id": "car_2", "answer": "A"},
    ]
    assert run.names == ["car", "pet"]


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
    assert (run.names, run.executed) == (["car", "pet"], 1)
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
    reference = World(tmp_path / "reference")
    reference.folder.mkdir()
    reference.run(databases)
    assert world.bytes() == reference.bytes()


def test_question_whose_outcome_is_known_executes_nothing(world):
    world.notes.write_text("")
    [work] = world.works({"car": ["a", "kill", "b"]}, "key")
    run = QueryRun(world.folder / "out", answer, OVERDUE)
    run.run([work._replace(known={"car_1": {"reason": "excluded"}})], workers=1)
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
