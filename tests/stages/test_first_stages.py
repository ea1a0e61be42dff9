"""The stages to parse_gold_sql: what they write and say; only what changed is made again."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.paths import PARSED, SCHEMAS, SPLIT_QUESTIONS
from answerkey.base.reasons import Reason
from answerkey.base.records import Shard, hash_file, read_shards, write_jsonl
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.loading import load_spider_questions
from answerkey.corpus.splits import assign_splits
from answerkey.engines.database import QueryError
from answerkey.engines.schema import Schema, SchemaFile, Table, encode_schema
from answerkey.gold import parsing
from answerkey.gold.execution import execute_task
from answerkey.sections.corpora import Download
from answerkey.sections.whole_file import ExecutionSettings, read_params
from answerkey.shards.runs import QueryRun
from answerkey.sql.parsed_query import parse_query
from stages import compute_gold_answers as stage
from stages import parse_gold_sql
from stages.parse_gold_sql import plan_works
from tests.shared.checkout import hash_tree
from tests.shared.fleet_world import FLEET, Project
from tests.shared.hub_server import pack_parquet, run_hubs
from tests.shared.paths import ROOT
from tests.shared.project_world import World, write_params

LIMITS = Download(deadline_s=30)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def test_stage_writes_one_line_a_question_and_what_the_card_says_of_its_corpus(world, capsys):
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


def test_rows_of_a_file_are_counted_whatever_databases_are_chosen(world):
    world.change("corpora.local.db_list", ["library"])
    world.run("load_questions")
    rows = world.json("data/interim/corpora.json")["local"]["rows"]
    assert rows["dev.json"] == len(world.lines("data/interim/questions.jsonl"))
    assert rows["train_spider.json"] == len(world.json("corpus/train_spider.json"))


def test_revision_that_is_no_commit_is_warned_about_once(world, tmp_path, monkeypatch, capsys):
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
    assert summary.startswith("load_questions: 1 question of 1 database (1 train, 0 validation)")


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


def test_stage_reads_questions_and_writes_splits(world, capsys):
    world.change("select_questions.preset", "small")
    pairs = [("a", "train"), ("b", "validation"), ("b", "validation")]
    questions = [
        {"database_name": name, "spider_split": split, "source": {"corpus": "local"}}
        for name, split in pairs
    ]
    write_jsonl(world.folder / "data/interim/questions.jsonl", questions)
    world.run("assign_splits")
    assert world.lines("data/interim/splits.jsonl") == assign_splits(questions)
    assert capsys.readouterr().err == "assign_splits: 3 questions: 1 train, 2 eval\n"
    world.change("select_questions.preset", None)
    with pytest.raises(InputError) as caught:
        world.run("assign_splits")
    told = [line.partition(":")[0] for line in str(caught.value).splitlines()[1:-1]]
    assert told == ["min_questions", "eval_share", "difficulty_shares"]


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
    stage.main(read_params())
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
        "compute_gold_answers: 4 questions in 1 database, 4 queries executed: 1 answer, 3 without"
        " (not_a_select 1, null_answer 1, sql_error 1)\n"
    )
    assert {path: hash_file(path) for path in folder.rglob("*") if path.is_file()} == before


def test_only_the_changed_database_executes(project, capfd):
    project.add("a", ["SELECT 1", "SELECT 2"]).add("b", ["SELECT count(*) FROM ship"])
    assert " 3 queries executed" in project.run(capfd)
    assert " 0 queries executed" in project.run(capfd)
    project.add("b", ["SELECT count(*) FROM ship"], sql=FLEET + "DELETE FROM ship WHERE id = 1;")
    assert " 1 query executed" in project.run(capfd)
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
            timeout=120,
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
        stage.main(read_params())
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
        stage.main(read_params())
    assert not isinstance(caught.value, QueryError)


FAILING = [  # gold SQL, and the warning; None: it does not fail
    ("SELECT 1", None),
    ("SELECT NULL", None),
    ("SELECT absent FROM ship", "no such column: absent (fleet_train_002, sql_error)"),
    ("DROP TABLE ship", "it does more than read: sqlite_master (fleet_train_003, not_a_select)"),
    ("SELECT photo FROM ship", "a BLOB of 1 bytes in the answer (fleet_train_004, blob)"),
    ('SELECT [a\n\x1b[2J"b] FROM ship', 'no such column: a  [2J"b (fleet_train_005, sql_error)'),
]


def test_each_question_that_fails_is_told_or_counted_by_the_params_of_the_project(project, capfd):
    failing = [f"fleet_train_{n:03d}" for n, (_, words) in enumerate(FAILING) if words is not None]
    project.add("fleet", [sql for sql, _ in FAILING]).write()
    write_params(project.folder / "params.yaml", compute_gold_answers=project.limits)
    stage.main(read_params())
    said = capfd.readouterr().err
    counted = sum(map(int, re.findall(r"and (\d+) more", said)))
    told = re.findall(r"warning: SQL execution failed for .* \((\w+), \w+\)$", said, re.MULTILINE)
    assert told == failing[: len(failing) - counted]
    assert told


@pytest.mark.parametrize("most", [0, 3, 20, None])
def test_questions_that_fail_are_told_one_by_one_and_counted_where_there_are_more(
    project, capfd, most
):
    project.add("fleet", [sql for sql, _ in FAILING])
    said = project.run(capfd, max_warnings=most).splitlines()
    start = "compute_gold_answers: warning: SQL execution failed for fleet: "
    expected = [f"{start}{words}" for _, words in FAILING if words is not None]
    told = expected[:most]
    if most and (left := len(expected) - len(told)):
        more = f"warning: and {left} more: execution.max_warnings is {most}"
        told.append(f"compute_gold_answers: {more}")
    assert said[:-1] == told


def test_every_question_that_fails_is_told_by_default(project, capfd):
    project.add("fleet", [f"SELECT nothing_{number} FROM ship" for number in range(60)])
    project.write()
    write_params(project.folder / "params.yaml", compute_gold_answers=project.limits)
    stage.main(read_params())
    said = capfd.readouterr().err
    assert said.count("warning: SQL execution failed for fleet: no such column") == 60


DATABASES = ("harbour", "library", "mill", "orchard", "quarry", "school", "theatre")
QUERIES = ("SELECT name FROM ship", "SELECT count(*) FROM SHIP", "SELECT FROM", "SELECT 'deadly'")


def write_schemas(*, views: tuple[str, ...] = ()) -> dict[str, Schema]:
    """The schemas of all databases: a table ship, which is a view in some."""
    schemas = {name: Schema((Table("ship", name in views, ()),)) for name in DATABASES}
    write_jsonl(
        SCHEMAS,
        [
            {"database_name": name, "tables": encode_schema(schema)}
            for name, schema in schemas.items()
        ],
    )
    return schemas


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """Source questions of seven databases, each query of each asked twice."""
    monkeypatch.chdir(tmp_path)
    records = [
        {
            "question_id": f"{name}_train_{number:03d}",
            "database_name": name,
            "gold_sql": QUERIES[number % len(QUERIES)],
        }
        for name in DATABASES
        for number in range(2 * len(QUERIES))
    ]
    write_jsonl(SPLIT_QUESTIONS, records)
    return records


def test_query_that_takes_too_long_ends_with_its_process_and_no_other(
    questions: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_schemas()

    def parse_slowly(sql: str, schema: Schema) -> dict[str, Any]:
        deadline = time.monotonic() + 30 * ("count" in sql)
        while time.monotonic() < deadline:
            pass
        return parse_query(sql, schema)

    monkeypatch.setattr(parsing, "parse_query", parse_slowly)
    monkeypatch.setattr(parsing, "MAX_SECONDS", 0.5)
    write_jsonl(SPLIT_QUESTIONS, questions[: len(QUERIES)])
    run = QueryRun(PARSED, parsing.parse_task, parsing.OVERDUE)
    run.run(plan_works(SchemaFile(SCHEMAS)), databases=1, workers=1)
    records = read_shards(PARSED, run.shards)
    reasons = [record.get("reason") for record in records]
    assert reasons == [None, "too_complex", "unparsable_sql", None]


def test_out_holds_all_databases_and_only_what_changed_is_parsed_again(
    questions: list[dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    params = replace(read_params(ROOT / "params.yaml"), execution=ExecutionSettings(workers=1))
    schemas = write_schemas()
    parse_gold_sql.main(params)
    first = hash_tree(PARSED, ".")
    assert list(read_shards(PARSED, map(Shard, DATABASES))) == [
        {
            "question_id": question["question_id"],
            **parse_query(question["gold_sql"], schemas[question["database_name"]]),
        }
        for question in questions
    ]
    write_schemas(views=("mill",))
    others = [question for question in questions if question["database_name"] != "school"]
    write_jsonl(SPLIT_QUESTIONS, others)
    parse_gold_sql.main(params)
    first_line, second_line = capsys.readouterr().err.splitlines()
    assert "56 questions, 28 queries parsed now" in first_line
    assert "48 questions, 4 queries parsed now" in second_line
    assert hash_tree(PARSED, ".").keys() == first.keys() - {"school.jsonl"}
    write_schemas()
    write_jsonl(SPLIT_QUESTIONS, questions)
    parse_gold_sql.main(params)
    assert hash_tree(PARSED, ".") == first
