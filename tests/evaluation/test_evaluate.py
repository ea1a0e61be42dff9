"""Evaluation of predictions on a small product that was built: numbers, files, errors, the page."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from answerkey.evaluate import describe, evaluate
from answerkey.evaluation.predictions import PredictionsError
from tests.shared.export_world import ExportWorld


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def questions(inside: ExportWorld) -> list[dict[str, Any]]:
    return inside.questions("eval")


@pytest.fixture
def gold(tmp_path: Path, questions: list[dict[str, Any]]) -> Path:
    lines = [{"question_id": q["question_id"], "prediction": q["gold_sql"]} for q in questions]
    return write_lines(tmp_path / "gold.jsonl", lines)


def by_heart(question: dict[str, Any]) -> str:
    """A query that reads no table and returns the stored answer."""
    answer = question["gold_answer"]
    rows = answer if isinstance(answer, list) else [answer]
    rows = [row if isinstance(row, list) else [row] for row in rows]
    with closing(sqlite3.connect(":memory:")) as connection:
        return "VALUES " + ", ".join(
            "("
            + ", ".join(connection.execute("SELECT quote(?)", [v]).fetchone()[0] for v in row)
            + ")"
            for row in rows
        )


def test_gold_is_right_everywhere(gold: Path, questions: list[Any], tmp_path: Path) -> None:
    summary = evaluate(gold, out=tmp_path / "out")
    accuracy = summary["accuracy"]
    assert (accuracy["count"], accuracy["database"], accuracy["suite"]) == (len(questions), 1, 1)
    assert summary["errors"] == {}
    assert set(summary["breakdowns"]["split"]) == {"eval"}
    for groups in summary["breakdowns"].values():
        assert all(one["suite"] == 1 for one in groups.values())
    lines = read_lines(tmp_path / "out/scores.jsonl")
    assert [line["question_id"] for line in lines] == [q["question_id"] for q in questions]
    written = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(summary))


def test_answers_by_heart_are_lost_on_the_suite(questions: list[Any], tmp_path: Path) -> None:
    lines = [{"question_id": q["question_id"], "prediction": by_heart(q)} for q in questions]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    assert summary["accuracy"]["database"] > summary["accuracy"]["suite"] + 0.5
    on_suite = [line for line in read_lines(tmp_path / "out/scores.jsonl") if line["on_database"]]
    assert all(line["database"] and line["reason"] for line in on_suite if not line["on_suite"])
    assert sum(one["on_suite_only"] for one in summary["errors"].values()) == sum(
        not line["on_suite"] for line in on_suite
    )
    alone = evaluate(tmp_path / "p.jsonl", out=tmp_path / "alone", test_suites=None)
    assert alone["accuracy"]["suite"] == summary["accuracy"]["database"]
    assert "suite" not in describe(alone)


def test_what_fails_has_its_kind_and_what_is_missing_counts_as_wrong(
    questions: list[Any], tmp_path: Path
) -> None:
    first, second, third, *others = questions
    lines = [
        {"question_id": first["question_id"], "prediction": "SELECT a FROM nowhere"},
        {"question_id": second["question_id"], "completion": "I do not know."},
        {
            "question_id": third["question_id"],
            "completion": [{"content": "```sql\nSELECT 77\n```"}],
        },
    ]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    assert summary["accuracy"]["suite"] == 0
    assert {"sql_error", "no_query"} < set(summary["errors"])
    assert summary["without_prediction"] == [q["question_id"] for q in others]
    scores = read_lines(tmp_path / "out/scores.jsonl")
    assert "no such table: nowhere" in scores[0]["detail"]
    assert (scores[1]["rows"], scores[1]["answer"]) == (None, None)
    assert (scores[2]["rows"], scores[2]["row_count"]) == ([[77]], 1)


def test_samples_give_pass_at_k_and_a_majority(questions: list[Any], tmp_path: Path) -> None:
    lines = [
        {"question_id": q["question_id"], "predictions": [q["gold_sql"], "SELECT 77", "SELECT 77"]}
        for q in questions
    ]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    samples = summary["samples"]
    assert summary["accuracy"]["suite"] == pytest.approx(1 / 3)
    assert samples["fewest"] == 3
    assert samples["pass_at_k"]["suite"] == pytest.approx({"1": 1 / 3, "2": 2 / 3})
    assert samples["majority"] == {"database": 0, "suite": 0}


def test_two_runs_are_compared_question_by_question(
    gold: Path, questions: list[Any], tmp_path: Path
) -> None:
    lines = [
        {"question_id": q["question_id"], "prediction": q["gold_sql"] if place else "SELECT 77"}
        for place, q in enumerate(questions)
    ]
    worse = write_lines(tmp_path / "p.jsonl", lines)
    against = evaluate(worse, out=tmp_path / "out", against=gold)["against"]["suite"]
    assert (against["better"], against["worse"]) == ([], [questions[0]["question_id"]])
    assert against["difference"] == pytest.approx(-1 / len(questions))
    assert against["p_value"] == 1


def test_a_second_run_scores_what_is_new(gold: Path, tmp_path: Path) -> None:
    evaluate(gold, out=tmp_path / "out")
    journal = tmp_path / "out/journal.jsonl"
    before = journal.read_text(encoding="utf-8")
    scores = (tmp_path / "out/scores.jsonl").read_bytes()
    lines = before.splitlines(keepends=True)
    journal.write_text("".join(lines[:-2]) + lines[-1][:10], encoding="utf-8")  # as if killed
    evaluate(gold, out=tmp_path / "out")
    assert sorted(journal.read_text(encoding="utf-8").splitlines()) == sorted(before.splitlines())
    assert (tmp_path / "out/scores.jsonl").read_bytes() == scores
    evaluate(gold, out=tmp_path / "out", rule="bird")
    assert len(read_lines(journal)) > len(lines)


def test_files_in_the_order_of_the_source(questions: list[Any], tmp_path: Path) -> None:
    places = {
        line["question_id"]: line["source"]
        for line in read_lines(Path("data/questions/audit.jsonl"))
    }
    size = 1 + max(places[q["question_id"]]["index"] for q in questions)
    sql = ["SELECT 77"] * size
    for q in questions:
        sql[places[q["question_id"]]["index"]] = q["gold_sql"]
    spider, bird = tmp_path / "p.sql", tmp_path / "p.json"
    spider.write_text("".join(f"{one}\tdatabase\n" for one in sql), encoding="utf-8")
    marked = {str(place): f"{one}\t----- bird -----\tx" for place, one in enumerate(sql)}
    bird.write_text(json.dumps(marked), encoding="utf-8")
    for path in (spider, bird):
        summary = evaluate(path, out=tmp_path / path.suffix)
        assert summary["accuracy"]["suite"] == 1
        assert sum(summary["left_out"].values()) == size - len(questions)
    with pytest.raises(PredictionsError, match=r"source_file: expected the file .* found no\.json"):
        evaluate(spider, out=tmp_path / "x", source_file="no.json")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"p.jsonl, line 1: expected a JSON object"),
        ("[]", r"line 1: expected a JSON object, found \[\]"),
        ('{"question_id": "none"}', "found 'none'"),
        ('{"question_id": ID}', "expected one of prediction, predictions, .* found none"),
        ('{"question_id": ID, "prediction": 1}', "prediction: expected SQL as text"),
        ('{"question_id": ID, "predictions": "x"}', "predictions: expected a list"),
        ("", "no prediction for a question of"),
    ],
)
def test_bad_predictions_are_told(
    line: str, said: str, questions: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(line.replace("ID", json.dumps(questions[0]["question_id"])), encoding="utf-8")
    with pytest.raises(PredictionsError, match=said):
        evaluate(path, out=tmp_path / "out")


def test_missing_folders_are_told_before_anything_is_scored(gold: Path, tmp_path: Path) -> None:
    for options, said in (
        ({"dataset": "none"}, "dvc pull data/questions"),
        ({"databases": "none"}, "none: expected a folder of databases"),
        ({"test_suites": "none"}, "none: expected a folder of databases"),
    ):
        with pytest.raises(FileNotFoundError, match=said):
            evaluate(gold, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_page_shows_what_is_wrong_and_escapes_it(questions: list[Any], tmp_path: Path) -> None:
    lines = [
        {"question_id": q["question_id"], "prediction": "SELECT '<script>alert(1)</script>'"}
        for q in questions
    ]
    evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    page = (tmp_path / "out/evaluation.html").read_text(encoding="utf-8")
    assert page.count('<details class="code" id=') == len(questions)
    assert "&lt;script&gt;" in page
    assert "<script" not in page


def test_the_command_prints_a_table_and_says_what_is_wrong(gold: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "answerkey.evaluate"]
    done = subprocess.run(
        [*command, gold, "--out", tmp_path / "out"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "100.0%" in done.stdout.splitlines()[1]
    done = subprocess.run([*command, "none.jsonl"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("answerkey evaluate: ")
    assert "Traceback" not in done.stderr
