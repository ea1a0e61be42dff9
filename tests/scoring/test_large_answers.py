"""Gold answers and rows of any size go to workers and back, and nobody waits for ever."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerkey.base.records import hash_file
from answerkey.dataset import Question
from answerkey.evaluation.predictions import Prediction
from answerkey.evaluation.scoring import Folders, score_predictions, score_rollouts
from answerkey.scoring.pool import Pool
from answerkey.scoring.worker import SUMMARY_ROWS, Job, Kind

# Rows, characters of each, and jobs: a socket holds 200 KB, and an answer at most 16 MB.
SIZES = {"1 KB": (10, 100, 100), "300 KB": (300, 1000, 12), "10 MB": (20, 500_000, 4)}
sizes = pytest.mark.parametrize(("count", "width", "jobs"), SIZES.values(), ids=SIZES)
workers = pytest.mark.parametrize("workers", [1, 2])


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """What stands still for five minutes is a failure."""

    def fail(*_: object) -> None:
        raise TimeoutError("still not done")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_sql(count: int, width: int) -> str:
    return (
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        f" SELECT printf('%0{width}d', i) FROM n"
    )


def make_rows(count: int, width: int) -> list[str]:
    return [f"{number:0{width}d}" for number in range(1, count + 1)]


@sizes
@workers
def test_answers_of_any_size_are_scored_explained_and_executed(ships, count, width, jobs, workers):
    path, sql = str(ships / "ships" / "ships.sqlite"), make_sql(count, width)
    rows = make_rows(count, width)
    right, wrong = json.dumps(rows), json.dumps([*rows[:-1], "x"])

    def make_jobs(kind: Kind) -> list[Job]:
        return [Job(kind, path, sql, gold_answer=(right, wrong)[n % 2]) for n in range(jobs)]

    with Pool(workers) as pool:
        assert pool.run(make_jobs(Kind.SCORE)) == [1.0, 0.0] * (jobs // 2)
        explained = pool.run(make_jobs(Kind.EXPLAIN))
        assert [one.reason for one in explained] == [None, "wrong_rows"] * (jobs // 2)
        assert all(len(repr(one)) < 2000 for one in explained)
        executed = pool.run(make_jobs(Kind.EXECUTE))
        assert all(found == [(row,) for row in rows] for found in executed)
        summarized = pool.run(make_jobs(Kind.SUMMARIZE))
        assert len(set(one.answer for one in summarized)) == 1
        assert all(one.row_count == count for one in summarized)
        assert all(len(repr(one)) < SUMMARY_ROWS * 300 for one in summarized)


@sizes
@workers
def test_predictions_and_rollouts_with_answers_of_any_size_end(
    ships: Path, tmp_path: Path, count: int, width: int, jobs: int, workers: int
) -> None:
    names = ("ships_1", "ships", "eval", "What?", "SELECT 1")
    question = Question(*names, source={}, flags=[])._replace(
        gold_answer=[*make_rows(count, width)[:-1], "x"],
        order_matters=False,
        rule="strict",
        database_sha256=hash_file(ships / "ships" / "ships.sqlite"),
    )
    sql = [f"{make_sql(count, width)} /* {number} */" for number in range(jobs)]
    folders = Folders(ships, None)
    scores = score_predictions(
        [Prediction("ships_1", place, one) for place, one in enumerate(sql)],
        {"ships_1": question},
        folders,
        journal=tmp_path / "scores.jsonl",
        workers=workers,
    )
    assert [score.row_count for score in scores] == [count] * jobs
    assert (tmp_path / "scores.jsonl").stat().st_size < jobs * 10_000
    (rate,) = score_rollouts(
        {"ships_1": {one: Counter(model=1) for one in sql}},
        [question],
        folders,
        journal=tmp_path / "rollouts.jsonl",
        workers=workers,
    )
    assert (rate["total"], rate["database"]) == (jobs, 0)
