"""answerkey.reward at instants: each question has its own clock, wherever it is scored."""

from __future__ import annotations

import asyncio
import datetime
import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas
import pytest

from answerkey.reward import (
    RewardPool,
    compute_score,
    execute,
    explain_completion,
    explain_score,
    score_completions,
    score_completions_async,
    score_parts,
    score_sql,
)
from tests.shared.databases import make_database

CREW = "CREATE TABLE crew (name TEXT, joined TEXT);"
SQL = "SELECT name FROM crew WHERE joined >= date('now', '-30 days') AND joined < CURRENT_DATE"
KNOWN = {"database_name": "crew", "order_matters": False}
SUITE = [{"path": "crew/crew.01.sqlite", "gold_answer": ["Eve"], "order_matters": False}]
# The instant of a question, and who joined in the 30 days before.
CLOCKS = [("2025-01-30", "Ann"), ("2024-06-30 12:00:00", "Bo"), (None, None)]


@pytest.fixture
def crew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of databases, with a suite on which Eve joined before either instant."""
    rows = "('Ann', '2025-01-29'), ('Bo', '2024-06-01'), ('Cy', '2025-01-30'), ('Di', '2023-01-01')"
    real = tmp_path / "data/databases/crew/crew.sqlite"
    make_database(real, f"{CREW} INSERT INTO crew VALUES {rows}")
    rows = "('Eve', '2025-01-15'), ('Eve', '2024-06-15'), ('Flo', '2025-01-30')"
    suite = tmp_path / "data/test_suites/crew/crew.01.sqlite"
    make_database(suite, f"{CREW} INSERT INTO crew VALUES {rows}")
    for name in ("ANSWERKEY_DATABASES", "ANSWERKEY_TEST_SUITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data/databases"


def fence(sql: str) -> str:
    return f"```sql\n{sql}\n```"


def make_batch(repeats: int) -> dict[str, list[Any]]:
    """The columns of questions that differ in their clocks alone, which take turns."""
    clocks = CLOCKS * repeats
    return {
        **{name: [value] * len(clocks) for name, value in KNOWN.items()},
        "gold_answer": [json.dumps(name or "Ann") for _, name in clocks],
        "test_suite": [json.dumps(SUITE)] * len(clocks),
        "now": [now for now, _ in clocks],
    }


def test_questions_of_one_batch_have_each_its_own_clock(crew: Path) -> None:
    """In one worker, whose compiled queries are kept, and in several."""
    for workers in (1, 3):
        with RewardPool(workers=workers) as pool:
            completions = [fence(SQL)] * len(CLOCKS) * 20
            assert pool.score_completions(completions, **make_batch(20)) == [1.0, 1.0, 0.0] * 20


@pytest.mark.parametrize(("now", "name"), CLOCKS[:2])
def test_every_way_to_score_has_the_clock_of_the_question(crew: Path, now: str, name: str) -> None:
    known: dict[str, Any] = {**KNOWN, "now": now, "test_suite": SUITE}
    columns = {"test_suite": json.dumps(SUITE), **KNOWN, "now": now}
    assert score_sql(SQL, name, **known) == 1.0
    assert explain_score(SQL, name, **known).reward == 1.0
    assert explain_completion(fence(SQL), name, **known).reward == 1.0
    assert score_parts(SQL, name, gold_sql=SQL, **known) == (1.0,) * 6
    assert compute_score("x", fence(SQL), json.dumps(name), columns) == 1.0
    batch = {key: [value] for key, value in columns.items()} | {"gold_answer": [json.dumps(name)]}
    assert asyncio.run(score_completions_async([fence(SQL)], **batch)) == [1.0]
    assert execute(SQL, "crew", now=now) == [(name,)]
    by_heart = explain_score(f"SELECT '{name}' WHERE CURRENT_DATE = date()", name, **known)
    assert by_heart.database == SUITE[0]["path"]


def test_prediction_that_reads_a_clock_is_refused_where_its_question_has_none(crew: Path) -> None:
    explained = explain_score(SQL, "Ann", **KNOWN)
    assert (explained.reward, explained.reason) == (0.0, "nondeterministic_function")
    assert execute("SELECT CURRENT_DATE", "crew") is None
    assert execute("SELECT CURRENT_DATE", "crew", now="2025-01-30") == [("2025-01-30",)]
    assert execute("SELECT CURRENT_DATE", "crew") is None


@pytest.mark.parametrize(
    "now",
    [
        "2025-01-30",
        "2025-01-30T00:00:00Z",
        datetime.date(2025, 1, 30),
        datetime.datetime(2025, 1, 30),
        pandas.Timestamp("2025-01-30"),
        pandas.Timestamp("2025-01-29T19:00:00-05:00"),
    ],
)
def test_instant_may_be_what_a_reader_of_json_makes_of_it(crew: Path, now: Any) -> None:
    assert score_sql(SQL, "Ann", **KNOWN, now=now) == 1.0
    batch = {key: values[:1] for key, values in make_batch(1).items()}
    assert score_completions([fence(SQL)], **batch | {"now": pandas.Series([now])}) == [1.0]


@pytest.mark.parametrize("now", [float("nan"), None, pandas.NaT, pandas.NA])
def test_null_of_any_kind_is_no_clock(crew: Path, now: Any) -> None:
    batch = {key: values[:2] for key, values in make_batch(1).items()}
    assert score_completions([fence(SQL)] * 2, **batch | {"now": ["2025-01-30", now]}) == [1.0, 0.0]


@pytest.mark.parametrize("now", ["today", "30.1.2025", 20250130, True, ["2025-01-30"]])
def test_what_is_no_instant_is_an_error_that_says_what_is_expected(crew: Path, now: Any) -> None:
    with pytest.raises(TypeError, match="now: expected a date, or a time in UTC, such as '2025-01"):
        score_sql(SQL, "Ann", **KNOWN, now=now)


def score_batch() -> list[float]:
    return score_completions([fence(SQL)] * len(CLOCKS), workers=1, **make_batch(1))


@pytest.mark.slow  # an interpreter starts
def test_processes_of_a_trainer_score_at_the_same_instants(crew: Path) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as executor:
        assert executor.submit(score_batch).result(timeout=60) == [1.0, 1.0, 0.0]
