"""answerkey.reward: right is what validation calls right; no prediction is fatal."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy
import pytest

from answerkey.reward import (
    RewardPool,
    compute_score,
    execute,
    explain_score,
    score,
    score_completions,
    score_parts,
    score_sql,
)
from tests.shared.databases import make_database
from tests.shared.paths import ROOT


def fence(sql: str) -> str:
    return f"Let me think.\n```sql\n{sql}\n```"


@pytest.mark.parametrize(
    ("rows", "gold_answer", "order_matters", "reward"),
    [
        ([(3.0,)], 3, False, 0.0),
        ([(0.3000002,)], 0.3, False, 1.0),
        ([(0.300002,)], 0.3, False, 0.0),
        ([], [], False, 1.0),
        ([], 0, False, 0.0),
        ([("a", 1), ("b", 2)], [["b", 2], ["a", 1]], False, 1.0),
        ([("a", 1), ("b", 2)], [["b", 2], ["a", 1]], True, 0.0),
        ([(1, "a")], [["a", 1]], False, 0.0),
        ([["a", 1]], [["a", 1]], True, 1.0),
    ],
)
def test_rows_are_right_or_wrong(rows, gold_answer, order_matters, reward):
    assert score(rows, gold_answer, order_matters=order_matters) == reward


def test_numbers_of_numpy_are_those_of_python():
    rows = [(numpy.int64(3), numpy.float64(0.1) * 3, numpy.str_("a"), None)]
    assert score(rows, [[3, 0.3, "a", None]], order_matters=True) == 1.0
    assert score(numpy.array([[1], [2]]), [2, 1], order_matters=False) == 1.0
    assert score([(numpy.float64(3),)], 3, order_matters=False) == 0.0


@pytest.mark.parametrize(
    ("sql", "reward"),
    [
        ("SELECT name FROM ship ORDER BY weight", 1.0),
        ("SELECT name FROM ship WHERE weight < 50", 0.0),
        ("SELECT nam FROM ship", 0.0),
        ("DELETE FROM ship", 0.0),
        ("SELECT 1; SELECT 2", 0.0),
        ("SELECT randomblob(9)", 0.0),
        ("ATTACH 'other.sqlite' AS other", 0.0),
        ("PRAGMA journal_mode = DELETE", 0.0),
        ("not SQL at all", 0.0),
        ("SELECT '\ud800'", 0.0),
    ],
)
def test_predicted_query_is_executed_and_compared(ships, sql, reward):
    before = (ships / "ships" / "ships.sqlite").read_bytes()
    extra_info = {"database_name": "ships", "order_matters": False, "index": 0}
    truth = json.dumps(["Sun", "Tern"])
    assert compute_score("answerkey/sample", fence(sql), truth, extra_info) == reward
    completions = [[{"role": "assistant", "content": fence(sql)}], fence(sql)]
    rewards = score_completions(
        completions,
        prompts=["?", "?"],
        gold_answer=[truth] * 2,
        database_name=["ships"] * 2,
        order_matters=[False] * 2,
    )
    assert rewards == [reward, reward]
    assert (ships / "ships" / "ships.sqlite").read_bytes() == before


def test_databases_are_found_by_argument_before_environment(ships, tmp_path, monkeypatch):
    monkeypatch.setenv("ANSWERKEY_DATABASES", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        execute("SELECT 1", "ships")
    assert execute("SELECT 1", "ships", databases=ships) == [(1,)]
    monkeypatch.setenv("ANSWERKEY_DATABASES", str(ships))
    monkeypatch.chdir("/")
    assert execute("SELECT 1", "ships") == [(1,)]


def test_verl_row_without_extra_info_is_an_error(ships):
    with pytest.raises(ValueError, match="expected extra_info"):
        compute_score("answerkey/sample", fence("SELECT 1"), "1")


def test_import_loads_the_standard_library_and_few_modules_alone():
    done = subprocess.run(
        [sys.executable, "-S", "-c", "import sys, answerkey.reward; print(*sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {
        name
        for name in done.stdout.split()
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "__main__", "__mp_main__"}
    }
    assert {"answerkey", "answerkey.reward", "answerkey.sqlite.guard"} <= loaded
    others = {name for name in loaded if name.split(".")[1:2] not in (["scoring"], ["sqlite"])}
    base = {"answerkey.base", "answerkey.base.errors", "answerkey.base.kinds"}
    assert others == {"answerkey", "answerkey.reward"} | base


def test_values_of_numpy_are_sent_to_workers_as_those_of_python(ships):
    rewards = score_completions(
        numpy.array([fence("SELECT name FROM ship")] * 2),
        gold_answer=numpy.array(['["Tern", "Sun"]'] * 2),
        database_name=numpy.array(["ships"] * 2),
        order_matters=numpy.array([False, True]),
        max_steps=numpy.array([1_000_000, 2_000_000]),
    )
    assert rewards == [1.0, 0.0]


@pytest.mark.parametrize(
    ("gold_answer", "error", "words"),
    [
        (["Sun"], TypeError, "gold_answer: expected JSON text, as exports have it, found list"),
        ("Sun", ValueError, "gold_answer: expected JSON text, found 'Sun'"),
    ],
)
def test_gold_answer_that_is_no_json_text_is_an_error(ships, gold_answer, error, words):
    known = {"database_name": ["ships"], "order_matters": [False]}
    with pytest.raises(error, match=words):
        score_completions([fence("SELECT 1")], gold_answer=[gold_answer], **known)


@pytest.mark.parametrize(
    ("sort", "reward"),
    [
        ("class", 1.0),
        ("class, name", 1.0),
        ("class, name DESC", 1.0),
        ("class DESC", 0.0),
        ("name", 0.0),
    ],
)
def test_rows_that_tie_may_come_in_any_order_and_no_others(ships, sort, reward):
    """Of five ships, two of the class 1 and two of the class 3, on the database and its suite."""
    values = "('Sun', 1), ('Alda', 3), ('Tern', 1), ('Kite', 3), ('Wren', 2)"
    sql = f"CREATE TABLE ship (name TEXT, class INT); INSERT INTO ship VALUES {values};"
    gold, known = ["Sun", "Tern", "Wren", "Alda", "Kite"], {"database_name": "ties"}
    ordered = {"order_matters": True, "accepted_rows": [2, 1, 2]}
    make_database(ships / "ties" / "ties.sqlite", sql)
    make_database(ships / "suites" / "ties" / "ties.01.sqlite", sql)
    suite = [{"path": "ties/ties.01.sqlite", "gold_answer": gold, **ordered}]
    sql = f"SELECT name FROM ship ORDER BY {sort}"
    for rule in ("strict", "spider", "spider2"):
        terms = {**known, "rule": rule, "test_suites": ships / "suites"}
        assert score_sql(sql, gold, **terms, **ordered) == reward
        on_suite = explain_score(sql, gold, **terms, order_matters=False, test_suite=suite)
        assert on_suite.reward == reward
        assert reward or on_suite.reason == "row_order"
    for rule in ("bird", "multiset", "set", "subset,=,5"):
        assert score_sql(sql, gold, **known, rule=rule, **ordered) == 1.0
    rows = execute(sql, "ties")
    assert score(rows, gold, rule="list", **ordered) == (rows == [(name,) for name in gold])
    texts = {name: json.dumps(value) for name, value in ordered.items() if value is not True}
    extra_info = {**known, "order_matters": True, **texts}
    assert compute_score("x", fence(sql), json.dumps(gold), extra_info) == reward


PARTS = [
    # What parts but on_suite pay for: executes, tables, columns, rows, on_database, on_suite.
    ("SELECT name FROM ship", (1, 1, 1, 1, 1, 1)),
    ("SELECT s.NAME FROM (SELECT * FROM ship) AS s", (1, 1, 2 / 3, 1, 1, 1)),
    ("VALUES ('Sun'), ('Tern')", (1, 0, 0, 1, 1, 0)),  # by heart
    ("SELECT 1", (1, 0, 0, 0, 0, 0)),
    ("SELECT name, weight FROM ship", (1, 1, 2 / 3, 2 / 3, 0, 0)),
    ("SELECT name FROM ship LIMIT 1", (1, 1, 1, 2 / 3, 0, 0)),
    ("SELECT count(*) FROM ship", (1, 1, 0, 0, 0, 0)),
    ("SELECT nothing FROM ship", (0, 0, 0, 0, 0, 0)),
    ("DELETE FROM ship", (0, 0, 0, 0, 0, 0)),
    (None, (0, 0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("sql", "parts"), PARTS)
def test_parts_of_a_score_are_told_apart(ships, sql, parts):
    values = "CREATE TABLE ship (name TEXT, weight REAL); INSERT INTO ship VALUES ('Kite', 1.0)"
    make_database(ships / "suites" / "ships" / "ships.01.sqlite", values)
    suite = [{"path": "ships/ships.01.sqlite", "gold_answer": "Kite", "order_matters": False}]
    known = {"database_name": "ships", "order_matters": False, "test_suite": suite}
    terms = {**known, "test_suites": ships / "suites"}
    gold = ["Sun", "Tern"]
    for _ in range(2):  # the second time from what SQLite has kept
        found = score_parts(sql, gold, gold_sql="SELECT name FROM ship", **terms)
        assert found == pytest.approx(parts)
    assert found.on_suite == score_sql(sql, gold, **terms)


def test_parts_need_gold_that_sqlite_takes(ships):
    known = {"database_name": "ships", "order_matters": False}
    with pytest.raises(ValueError, match="gold_sql: expected a query of"):
        score_parts("SELECT 1", 1, gold_sql="SELECT nothing", **known)


def test_segments_of_another_answer_are_an_error():
    with pytest.raises(ValueError, match="expected segments of 3 rows, as gold_answer has, found"):
        score([("a",)], ["a", "b", "c"], order_matters=True, accepted_rows=[1, 1])


def test_answers_that_a_tie_allows_are_right(ships):
    accepted = [{"rows": [["Sun"], ["Tern"]], "take": 1}]
    known = {"database_name": "ships", "order_matters": True}
    for name, reward in (("Sun", 1.0), ("Tern", 1.0), ("Kite", 0.0)):
        sql = f"SELECT '{name}'"
        assert score_sql(sql, "Sun", **known, accepted_rows=accepted) == reward
        extra_info = {**known, "accepted_rows": json.dumps(accepted)}
        assert compute_score("x", fence(sql), '"Sun"', extra_info) == reward
        assert score([(name,)], "Sun", order_matters=True, accepted_rows=accepted) == reward


# --- a missing folder of databases is said when the reward is set up


def test_missing_folder_is_said_before_the_first_query(tmp_path):
    words = r"No databases at .*nowhere: expected .* `databases` or .* ANSWERKEY_DATABASES"
    with pytest.raises(FileNotFoundError, match=words):
        RewardPool(databases=tmp_path / "nowhere")
