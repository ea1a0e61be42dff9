"""compute_gold_answers: each question has an answer or a reason; only what changed executes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from answerkey.base.errors import InputError, Reason
from answerkey.base.records import hash_file
from answerkey.sqlite.guard import QueryError
from stages import compute_gold_answers as stage
from stages.compute_gold_answers import execute_task
from tests.shared.fleet_world import FLEET, Project
from tests.shared.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def test_every_question_ends_with_an_answer_or_a_reason_and_no_database_is_changed(project, capfd):
    project.add(
        "fleet",
        [
            "SELECT name FROM ship ORDER BY id",
            "SELECT absent FROM ship",
            "DELETE FROM ship",
            "SELECT code FROM ship WHERE id = 2",
        ],
    ).write()
    folder = project.folder / "data/databases"
    before = {path: hash_file(path) for path in folder.rglob("*") if path.is_file()}
    stage.main()
    assert project.shard("fleet") == [
        {"question_id": f"fleet_train_{place:03d}", **outcome}
        for place, outcome in enumerate(
            [
                {"gold_answer": ["Sun", "Zoë"], "answer_type": "list", "steps": 50_000},
                {"reason": Reason.SQL_ERROR, "detail": "no such column: absent"},
                {"reason": Reason.NOT_A_SELECT, "detail": "it does more than read: ship"},
                {"reason": Reason.NULL_ANSWER, "detail": "the answer is a single NULL"},
            ]
        )
    ]
    assert capfd.readouterr().err == (
        "compute_gold_answers: 4 questions in 1 databases, 4 queries executed: 1 answers, 3 without"
        " (not_a_select 1, null_answer 1, sql_error 1)\n"
    )
    assert {path: hash_file(path) for path in folder.rglob("*") if path.is_file()} == before


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


def test_same_bytes_with_any_number_of_workers_and_any_hash_seed(project):
    for name in ("a", "b", "c"):
        project.add(name, ["SELECT name FROM ship", *(f"SELECT {n}" for n in range(90))])
    found = []
    for workers, seed in ((1, "0"), (3, "1")):
        project.write(workers=workers)
        (project.folder / "data/interim/gold_answers.keys").unlink(missing_ok=True)
        finished = subprocess.run(
            [sys.executable, "-m", "stages.compute_gold_answers"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert " 273 queries executed" in finished.stderr
        found.append(project.bytes())
    assert found[0].keys() == {"a.jsonl", "b.jsonl", "c.jsonl"}
    assert found[0] == found[1]


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


def test_corrupt_database_stops_the_run(project):
    """One that was corrupt when the manifest was written."""
    project.add("a", ["SELECT 1"]).write()
    path = project.folder / "data/databases/a/a.sqlite"
    path.write_bytes(b"not a database" * 100)
    manifest = {"databases": {"a": {"sha256": hash_file(path)}}}
    (project.folder / "data/databases/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(sqlite3.DatabaseError, match=r"Corrupt database: .*a\.sqlite") as caught:
        stage.main()
    assert not isinstance(caught.value, QueryError)


FAILING = [  # gold SQL, and the warning; None: it does not fail
    ("SELECT 1", None),
    ("SELECT NULL", None),
    ("SELECT absent FROM ship", "no such column: absent (fleet_train_002, sql_error)"),
    ("DROP TABLE ship", "it does more than read: sqlite_master (fleet_train_003, not_a_select)"),
    ("SELECT photo FROM ship", "a BLOB of 1 bytes in the answer (fleet_train_004, blob)"),
    ('SELECT [a\n\x1b[2J"b] FROM ship', 'no such column: a  [2J"b (fleet_train_005, sql_error)'),
]


@pytest.mark.parametrize("most", [0, 3, 20])
def test_first_questions_that_fail_are_told_one_by_one(project, capfd, most):
    project.add("fleet", [sql for sql, _ in FAILING])
    said = project.run(capfd, max_warnings=most).splitlines()
    start = "compute_gold_answers: warning: SQL execution failed for fleet: "
    expected = [f"{start}{words}" for _, words in FAILING if words is not None]
    assert said[:-1] == expected[:most]
