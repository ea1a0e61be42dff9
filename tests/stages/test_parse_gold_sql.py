"""parse_gold_sql: all questions in order, and again only what changed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.records import write_jsonl
from answerkey.sections.whole_file import Execution
from answerkey.shards.runs import QueryRun, read_shards
from answerkey.sql.parsed_query import parse_query
from answerkey.sqlite.schema import Schema, SchemaFile, Table, encode_schema
from stages import parse_gold_sql
from stages.parse_gold_sql import OUT, SCHEMAS_PATH, SPLITS_PATH, parse_task, plan_works

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

DATABASES = ("harbour", "library", "mill", "orchard", "quarry", "school", "theatre")
QUERIES = ("SELECT name FROM ship", "SELECT count(*) FROM SHIP", "SELECT FROM", "SELECT 'deadly'")


def write_schemas(*, views: tuple[str, ...] = ()) -> dict[str, Schema]:
    """The schemas of all databases: a table ship, which is a view in some."""
    schemas = {name: Schema((Table("ship", name in views, ()),)) for name in DATABASES}
    write_jsonl(
        SCHEMAS_PATH,
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
    write_jsonl(SPLITS_PATH, records)
    return records


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_query_that_takes_too_long_ends_with_its_process_and_no_other(
    questions: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_schemas()

    def parse_slowly(sql: str, schema: Schema) -> dict[str, Any]:
        deadline = time.monotonic() + 30 * ("count" in sql)
        while time.monotonic() < deadline:
            pass
        return parse_query(sql, schema)

    monkeypatch.setattr(parse_gold_sql, "parse_query", parse_slowly)
    monkeypatch.setattr(parse_gold_sql, "MAX_SECONDS", 0.5)
    write_jsonl(SPLITS_PATH, questions[: len(QUERIES)])
    run = QueryRun(OUT, parse_task, parse_gold_sql.OVERDUE)
    run.run(plan_works(SchemaFile(SCHEMAS_PATH)), workers=1)
    records = read_shards(OUT, run.names)
    reasons = {record["question_id"][-3:]: record.get("reason") for record in records}
    assert reasons == {
        "000": None,
        "001": "too_complex",
        "002": "unparsable_sql",
        "003": None,
    }


def test_out_holds_all_databases_and_only_what_changed_is_parsed_again(
    questions: list[dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(parse_gold_sql, "read_params", lambda *keys: [Execution(workers=1)])
    schemas = write_schemas()
    parse_gold_sql.main()
    first = read_files(OUT)
    assert list(read_shards(OUT, DATABASES)) == [
        {
            "question_id": question["question_id"],
            **parse_query(question["gold_sql"], schemas[question["database_name"]]),
        }
        for question in questions
    ]
    write_schemas(views=("mill",))
    write_jsonl(
        SPLITS_PATH, [question for question in questions if question["database_name"] != "school"]
    )
    parse_gold_sql.main()
    first_line, second_line = capsys.readouterr().err.splitlines()
    assert "56 questions, 28 queries parsed now" in first_line
    assert "48 questions, 4 queries parsed now" in second_line
    assert read_files(OUT).keys() == first.keys() - {"school.jsonl"}
    write_schemas()
    write_jsonl(SPLITS_PATH, questions)
    parse_gold_sql.main()
    assert read_files(OUT) == first
