import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest
import yaml

from answerkey.core.errors import InputError
from answerkey.core.reasons import Reason
from answerkey.core.records import hash_file
from answerkey.sqlite.guard import Limits, QueryError
from stages import compute_gold_answers as stage
from stages.compute_gold_answers import compute_gold_answer, execute_task
from tests.shared.fleet_world import FLEET, Project, make_fleet
from tests.shared.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
OUTCOMES = [  # gold SQL, and what becomes of it
    ("SELECT count(*) FROM ship", (2, "integer")),
    ("SELECT tonnage FROM ship WHERE id = 2", (7.0, "float")),
    ("SELECT code FROM ship WHERE id = 1", ("00123", "string")),
    ("SELECT name FROM ship ORDER BY id", (["Sun", "Zoë"], "list")),
    ("SELECT code FROM ship ORDER BY id", (["00123", None], "list")),
    ("SELECT id, name FROM ship ORDER BY id", ([[1, "Sun"], [2, "Zoë"]], "table")),
    ("SELECT id, code FROM ship WHERE id = 2", ([[2, None]], "table")),
    ("SELECT name FROM ship WHERE id = 9", ([], "list")),
    ("SELECT count(*) FROM ship;", (2, "integer")),
    ("SELECT code FROM ship WHERE id = 2", "null_answer"),
    ("SELECT max(id) FROM ship WHERE id > 9", "null_answer"),
    ("SELECT absent FROM ship", "sql_error"),
    ("SELECT * FROM absent", "sql_error"),
    ("DELETE FROM ship", "not_a_select"),
    ("DROP TABLE ship", "not_a_select"),
    ("PRAGMA table_info(ship)", "not_a_select"),
    ("", "not_a_select"),
    ("SELECT 1; SELECT 2", "multiple_statements"),
    ("SELECT load_extension('x')", "forbidden_function"),
    ("SELECT name FROM ship WHERE id < random()", "nondeterministic_function"),
    (ENDLESS.format("count(*)"), "step_budget_exceeded"),
    (ENDLESS.format("x"), "too_many_rows"),
    ("SELECT length(hex(zeroblob(600000)))", "value_too_large"),
    (ENDLESS.format("hex(zeroblob(100000))"), "answer_too_large"),
    ("SELECT photo FROM ship", "blob"),
    ("SELECT 9e999", "not_finite"),
    ("SELECT CAST(x'ff' AS TEXT)", "undecodable_text"),
]


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


# --- one answer


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [*OUTCOMES, ("SELECT 'a' || char(0)", ("a\0", "string"))],
    ids=lambda value: str(value)[:40],
)
def test_gold_answer_is_the_json_value_of_the_rows(tmp_path, sql, outcome):
    path = make_fleet(tmp_path / "fleet.sqlite")
    limits = Limits(max_steps=1_000_000)
    if isinstance(outcome, tuple):
        answer = compute_gold_answer(sql, path, limits=limits)
        assert answer == outcome[0]
        assert type(answer) is type(outcome[0])
    elif outcome == "null_answer":
        assert compute_gold_answer(sql, path) is None
    else:
        with pytest.raises(sqlite3.Error, match="SQL execution failed for fleet: ") as caught:
            compute_gold_answer(sql, path, limits=limits)
        assert isinstance(caught.value, QueryError)
        assert caught.value.reason == outcome


def test_gold_answer_without_limits_uses_those_of_the_project(tmp_path):
    path = make_fleet(tmp_path / "fleet.sqlite")
    assert compute_gold_answer("SELECT count(*) FROM ship", path) == 2
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert Limits(**params["compute_gold_answers"]) == Limits()


def test_missing_database_is_no_fault_of_the_query(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.sqlite"):
        compute_gold_answer("SELECT 1", tmp_path / "gone.sqlite")
    assert list(tmp_path.iterdir()) == []


# --- the stage


def test_every_question_ends_with_an_answer_or_a_reason(project, capfd):
    summary = project.add("fleet", [sql for sql, _ in OUTCOMES]).run(capfd)
    records = project.shard("fleet")
    for place, (record, (sql, outcome)) in enumerate(zip(records, OUTCOMES, strict=True)):
        assert record.pop("question_id") == f"fleet_train_{place:03d}"
        if isinstance(outcome, tuple):
            assert record == {"gold_answer": outcome[0], "answer_type": outcome[1]}, sql
        else:
            assert record.pop("reason") == outcome, sql
            assert list(record) == ["detail"], sql
            assert record["detail"]
    failures = sum(isinstance(outcome, str) for _, outcome in OUTCOMES)
    assert f"{len(OUTCOMES)} questions in 1 databases, {len(OUTCOMES)} queries executed" in summary
    assert f"{len(OUTCOMES) - failures} answers, {failures} without (not_a_select 4," in summary


def test_detail_has_the_words_of_sqlite(project, capfd):
    project.add("fleet", ["SELECT absent FROM ship"]).run(capfd)
    assert project.shard("fleet") == [
        {
            "question_id": "fleet_train_000",
            "reason": Reason.SQL_ERROR,
            "detail": "no such column: absent",
        }
    ]


def test_databases_are_not_changed_by_any_query(project, capfd):
    project.add("fleet", [sql for sql, _ in OUTCOMES])
    project.write()
    folder = project.folder / "data/databases"
    before = {path: hash_file(path) for path in folder.rglob("*") if path.is_file()}
    stage.main()
    assert {path: hash_file(path) for path in folder.rglob("*") if path.is_file()} == before


def test_identical_sql_is_executed_once_in_each_database(project, capfd):
    sql = "SELECT count(*) FROM ship"
    project.add("a", [sql, "SELECT 1", sql, sql]).add("b", [sql, sql])
    summary = project.run(capfd)
    assert "6 questions in 2 databases, 3 queries executed: 6 answers, 0 without\n" in summary
    assert [record["gold_answer"] for record in project.shard("a")] == [2, 1, 2, 2]


def test_only_the_changed_database_executes(project, capfd):
    project.add("a", ["SELECT 1", "SELECT 2"]).add("b", ["SELECT count(*) FROM ship"])
    assert " 3 queries executed" in project.run(capfd)
    assert " 0 queries executed" in project.run(capfd)
    project.add("b", ["SELECT count(*) FROM ship"], sql=FLEET + "DELETE FROM ship WHERE id = 1;")
    assert " 1 queries executed" in project.run(capfd)
    assert [record["gold_answer"] for record in project.shard("b")] == [1]
    project.add("a", ["SELECT 1", "SELECT 3"])
    assert " 2 queries executed" in project.run(capfd)
    project.limits["max_rows"] = 7
    assert " 3 queries executed" in project.run(capfd)
    assert " 0 queries executed" in project.run(capfd, workers=2)


def test_database_that_left_the_corpus_leaves_the_answers(project, capfd):
    project.add("a", ["SELECT 1"]).add("b", ["SELECT 2"]).run(capfd)
    del project.questions["a"]
    assert "1 questions in 1 databases, 0 queries executed" in project.run(capfd)
    assert list(project.bytes()) == ["b.jsonl"]


def test_same_bytes_with_any_number_of_workers_and_any_hash_seed(project):
    for name in ("a", "b", "c"):
        project.add(name, [*(sql for sql, _ in OUTCOMES), *(f"SELECT {n}" for n in range(90))])
    found = []
    for workers, seed in ((1, "0"), (2, "1"), (3, "random")):
        project.write(workers=workers)
        (project.folder / ".answerkey/gold_answers.jsonl").unlink(missing_ok=True)
        finished = subprocess.run(
            [sys.executable, "-m", "stages.compute_gold_answers"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f" {3 * (len(OUTCOMES) + 90)} queries executed" in finished.stderr
        found.append(project.bytes())
    assert found[0].keys() == {"a.jsonl", "b.jsonl", "c.jsonl"}
    assert found[0] == found[1] == found[2]


def die_on_request(task):
    """The stage's own function, in a process that some queries kill."""
    if any("please die" in query for query in task.queries):
        os.kill(os.getpid(), signal.SIGKILL)
    return execute_task(task)


def test_query_whose_process_dies_is_no_fact_and_a_curator_may_exclude_it(
    project, capfd, monkeypatch
):
    monkeypatch.setattr(stage, "execute_task", die_on_request)
    project.add("a", ["SELECT 1", "SELECT 'please die'", "SELECT 3"]).add("b", ["SELECT 4"])
    project.write(workers=2)
    with pytest.raises(InputError, match="a_train_001 of database a: killed by signal 9"):
        stage.main()
    assert project.bytes().keys() == {"b.jsonl"}
    project.excluded["a_train_001"] = "SQLite crashes on it."
    summary = project.run(capfd, workers=2)
    assert "2 queries executed: 3 answers, 1 without (excluded_by_curator 1)" in summary
    first, second, third = project.shard("a")
    assert (first["gold_answer"], third["gold_answer"]) == (1, 3)
    assert second == {
        "question_id": "a_train_001",
        "reason": Reason.EXCLUDED_BY_CURATOR,
        "detail": "not executed: SQLite crashes on it.",
    }
    project.excluded.clear()
    project.questions["a"][1] = "SELECT 2"
    assert "3 queries executed: 4 answers, 0 without" in project.run(capfd)


@pytest.mark.parametrize("spoil", [b"", b"not a database" * 100])
def test_corrupt_database_stops_the_run(project, spoil):
    """One that was corrupt when the manifest was written."""
    project.add("a", ["SELECT 1"]).write()
    path = project.folder / "data/databases/a/a.sqlite"
    path.write_bytes(spoil)
    manifest = {"databases": {"a": {"sha256": hash_file(path)}}}
    (project.folder / "data/databases/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(sqlite3.DatabaseError, match=r"Corrupt database: .*a\.sqlite") as caught:
        stage.main()
    assert not isinstance(caught.value, QueryError)


def test_database_that_was_replaced_stops_the_run(project):
    project.add("a", ["SELECT count(*) FROM ship"]).write()
    path = project.folder / "data/databases/a/a.sqlite"
    make_fleet(path, FLEET + "DELETE FROM ship WHERE id = 1;")
    with pytest.raises(InputError, match="Database a is not the one of the manifest: expected sha"):
        stage.main()
    assert project.bytes() == {}


def test_missing_database_stops_the_run(project):
    project.add("a", ["SELECT 1"]).write()
    (project.folder / "data/databases/a/a.sqlite").unlink()
    with pytest.raises(FileNotFoundError, match=r"No database at .*a\.sqlite: run `dvc repro"):
        stage.main()


def test_database_missing_in_the_manifest_stops_the_run(project):
    project.add("a", ["SELECT 1"]).write()
    (project.folder / "data/databases/manifest.json").write_text('{"databases": {}}')
    with pytest.raises(InputError, match=r"manifest\.json: expected an entry for database a,"):
        stage.main()


@pytest.mark.parametrize("limits", [{"max_steps": 0}, {"max_rows": 1.5}, {"max_seconds": "1"}])
def test_limit_that_is_no_whole_number_stops_the_run(project, limits):
    project.add("a", ["SELECT 1"]).limits |= limits
    project.write()
    with pytest.raises(ValueError, match="expected a whole number from 1"):
        stage.main()
