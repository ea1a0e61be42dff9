"""Readings of which rows are kept, and alternatives that are tried together."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.alternatives.readings import list_readings
from answerkey.base.records import Finding
from answerkey.doubts.repairs import Gold, Tried, try_alternatives
from answerkey.engines.executions import Executions
from answerkey.rewrites.trees import Change
from answerkey.sql.query_tree import parse_sql
from tests.shared.probe_world import ProbeWorld

CLINIC = """
CREATE TABLE patient (
  id INTEGER PRIMARY KEY, name TEXT, town TEXT, height_cm INT, children INT
);
INSERT INTO patient VALUES
  (1, 'Ada', 'Ayr', 170, 0), (2, 'Bo', 'Ayr', 180, 2), (3, 'Cy', 'Oban', 0, 1),
  (4, 'Di', 'Ayr', 190, 2), (5, 'Bo', 'Ayr', 150, 2);
"""


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory):
    with ProbeWorld(tmp_path_factory.mktemp("clinic"), CLINIC) as world:
        yield world


def try_all(world: ProbeWorld, question: str, gold_sql: str, *findings: Finding) -> Tried:
    real = Executions(world.database)

    def read(sql: str) -> list[Change]:
        return list_readings(parse_sql(sql), world.schema, question, real.find_rows)

    rows = real.read_rows(gold_sql)
    return try_alternatives(findings, read, Gold(gold_sql, rows, False), real)


def answers(world: ProbeWorld, question: str, gold_sql: str) -> dict[str, list]:
    """The rows of each alternative that answers otherwise, by its rule."""
    tried = try_all(world, question, gold_sql)
    return {repair["rule"]: world.database.execute(repair["sql"]) for repair in tried.repairs}


@pytest.mark.parametrize(
    ("question", "gold_sql", "rule", "rows"),
    [
        (
            "What is the average height?",
            "SELECT avg(height_cm) FROM patient",
            "measured_rows",
            [(172.5,)],
        ),
        (
            "Who is the shortest?",
            "SELECT name FROM patient ORDER BY height_cm LIMIT 1",
            "measured_rows",
            [("Bo",)],
        ),
        (
            "What is the average height?",
            "SELECT sum(height_cm) * 1.0 / count(*) FROM patient",
            "measured_rows",
            [(172.5,)],
        ),
        ("What is the average number?", "SELECT avg(children) FROM patient", "measured_rows", None),
        ("Who is the tallest?", "SELECT max(height_cm) FROM patient", "measured_rows", None),
        (
            "Name at least one town.",
            "SELECT town FROM patient LIMIT 1",
            "uncut",
            [("Ayr",), ("Ayr",), ("Oban",), ("Ayr",), ("Ayr",)],
        ),
        ("Name one town.", "SELECT town FROM patient LIMIT 1", "uncut", None),
    ],
)
def test_rows_that_a_question_may_mean_are_kept(
    clinic: ProbeWorld, question: str, gold_sql: str, rule: str, rows: list | None
) -> None:
    assert answers(clinic, question, gold_sql).get(rule) == rows


def test_alternatives_that_answer_otherwise_are_tried_together(clinic: ProbeWorld) -> None:
    question = "Whose children are the most?"
    answered = answers(clinic, question, "SELECT name FROM patient ORDER BY children DESC LIMIT 1")
    assert sorted(answered["all_ties"]) == [("Bo",), ("Bo",), ("Di",)]
    assert all("+" not in rule for rule in answered)  # there is one alternative
    answered = answers(clinic, "Name at least one town.", "SELECT town FROM patient LIMIT 2")
    assert sorted(answered["distinct_rows+uncut"]) == [("Ayr",), ("Oban",)]


def test_finding_says_what_its_repair_answers(clinic: ProbeWorld, tmp_path: Path) -> None:
    same = Finding("comparison_mismatch", {"repair": "SELECT count(*) FROM patient WHERE id > 0"})
    other = Finding("comparison_mismatch", {"sql": "x", "repair": "SELECT 0"})
    failing = Finding("comparison_mismatch", {"repair": "SELECT nothing"})
    tried = try_all(clinic, "How many?", "SELECT count(*) FROM patient", same, other, failing)
    assert [finding.evidence for finding in tried.findings] == [
        {"repair": "comparison_mismatch", "answers": "same"},
        {"sql": "x", "repair": "comparison_mismatch", "answers": "other"},
        {},
    ]
    assert [repair["answers"] for repair in tried.repairs][:2] == ["same", "other"]
    assert (tried.repairs[1]["gold_rows"], tried.repairs[1]["repair_rows"]) == ([[5]], [[0]])


def test_reading_that_is_seldom_meant_counts_where_it_has_golds_rows_alone(clinic: ProbeWorld):
    question, gold_sql = "Which towns have patients?", "SELECT DISTINCT town FROM patient"
    rule = "without_distinct"
    tried = try_all(clinic, question, gold_sql)
    assert rule not in {repair["rule"] for repair in tried.repairs}
    tried = try_all(clinic, question, f"{gold_sql} WHERE town = 'Oban'")
    assert rule in {reading.name for reading in tried.readings}
