"""Questions are parsed by several processes, and the records stay in the order of the questions."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from stages import parse_gold_sql
from stages.parse_gold_sql import DIED, SPLITS_PATH, parse_query, parse_questions
from stages.records import write_jsonl
from stages.schema import Schema, Table

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

DATABASES = ("harbour", "library", "mill", "orchard", "quarry", "school", "theatre")
QUERIES = ("SELECT name FROM ship", "SELECT count(*) FROM SHIP", "SELECT FROM", "SELECT 'deadly'")
SCHEMAS = {name: Schema((Table("ship", False, ()),)) for name in DATABASES}


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


@pytest.mark.parametrize("workers", [1, 3])
def test_every_question_gets_what_its_query_gives_in_order(
    questions: list[dict[str, str]], workers: int
) -> None:
    expected = [
        {
            "question_id": question["question_id"],
            **parse_query(question["gold_sql"], SCHEMAS[question["database_name"]]),
        }
        for question in questions
    ]
    assert list(parse_questions(SCHEMAS, workers=workers)) == expected


def test_query_that_kills_its_worker_costs_its_database_and_no_other(
    questions: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse_or_die(gold_sql: str, schema: Schema) -> dict[str, Any]:
        if "deadly" in gold_sql and schema.tables[0].is_view:  # in mill only
            os.kill(os.getpid(), signal.SIGKILL)
        return parse_query(gold_sql, schema)

    monkeypatch.setattr(parse_gold_sql, "parse_query", parse_or_die)
    schemas = {**SCHEMAS, "mill": Schema((Table("ship", True, ()),))}
    parsed = list(parse_questions(schemas, workers=2))
    assert [record["question_id"] for record in parsed] == [q["question_id"] for q in questions]
    dead = {
        record["question_id"].split("_")[0] for record in parsed if DIED.items() <= record.items()
    }
    assert dead == {"mill"}
