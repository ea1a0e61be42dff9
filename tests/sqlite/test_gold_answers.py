"""gold_answers: the JSON value of what gold SQL returns, or the reason why there is none."""

from __future__ import annotations

import sqlite3

import pytest
import yaml

from answerkey.sqlite.answers import answer_query, compute_gold_answer
from answerkey.sqlite.guard import GuardedDatabase, Limits, QueryError
from tests.shared.fleet_world import make_fleet
from tests.shared.project_world import ROOT

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
    ("SELECT 'a' || char(0)", ("a\0", "string")),
]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return make_fleet(tmp_path_factory.mktemp("fleet") / "fleet.sqlite")


@pytest.mark.parametrize(("sql", "outcome"), OUTCOMES, ids=lambda value: str(value)[:40])
def test_gold_answer_is_the_json_value_of_the_rows(fleet, sql, outcome):
    limits = Limits(max_steps=1_000_000)
    with GuardedDatabase(fleet, limits) as database:
        recorded = answer_query(database, sql)
    if isinstance(outcome, tuple):
        answer = compute_gold_answer(sql, fleet, limits=limits)
        assert answer == outcome[0]
        assert type(answer) is type(outcome[0])
        steps = recorded.pop("steps")
        assert recorded == {"gold_answer": answer, "answer_type": outcome[1]}
        assert (steps % 50_000, steps > 0) == (0, True)
        return
    assert (recorded["reason"], list(recorded)) == (outcome, ["reason", "detail"])
    assert recorded["detail"]
    if outcome == "null_answer":
        assert compute_gold_answer(sql, fleet) is None
        return
    with pytest.raises(sqlite3.Error, match="SQL execution failed for fleet: ") as caught:
        compute_gold_answer(sql, fleet, limits=limits)
    assert isinstance(caught.value, QueryError)
    assert caught.value.reason == outcome


def test_steps_are_those_of_the_query_rounded_up(fleet):
    rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {})"
    sql = f"{rows} SELECT max(i) FROM n"
    with GuardedDatabase(fleet) as database:
        many, few = (answer_query(database, sql.format(most))["steps"] for most in (50_000, 9))
        assert database.steps == 1000
        assert few == 50_000 < many
        database.execute(sql.format(50_000))
        exact = database.steps
    assert many - 50_000 < exact <= many
    compute_gold_answer(sql.format(50_000), fleet, limits=Limits(max_steps=exact))
    with pytest.raises(QueryError, match="virtual machine steps"):
        compute_gold_answer(sql.format(50_000), fleet, limits=Limits(max_steps=exact - 2000))


def test_gold_answer_without_limits_uses_those_of_the_project(fleet):
    assert compute_gold_answer("SELECT count(*) FROM ship", str(fleet)) == 2  # as text, too
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    assert Limits(**params["compute_gold_answers"]) == Limits()


def test_missing_database_is_no_fault_of_the_query(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"gone\.sqlite"):
        compute_gold_answer("SELECT 1", tmp_path / "gone.sqlite")
    assert list(tmp_path.iterdir()) == []
