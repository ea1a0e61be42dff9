"""answerkey.reward: right is what validation calls right, on a database and on its test suite."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from answerkey import reward as reward_module
from answerkey.engines.database import Limits
from answerkey.reward import (
    RewardPool,
    compute_score,
    execute,
    explain_completion,
    explain_score,
    score,
    score_completions,
    score_completions_async,
    score_parts,
    score_sql,
)
from answerkey.scoring.rules import RULES
from answerkey.scoring.systems import IS_UNIX
from answerkey.scoring.worker import NO_SUITE, SUITES_VARIABLE, OpenDatabases
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
        timeout=120,
    )
    loaded = {
        name
        for name in done.stdout.split()
        if name.partition(".")[0] not in {*sys.stdlib_module_names, "__main__", "__mp_main__"}
    }
    assert {"answerkey", "answerkey.reward", "answerkey.engines.sqlite.guard"} <= loaded
    others = {name for name in loaded if name.split(".")[1:2] not in (["scoring"], ["engines"])}
    base = {
        f"answerkey.base.{name}"
        for name in ("cores", "errors", "kinds", "paths", "reasons", "secrets")
    }
    assert others == {"answerkey", "answerkey.base", "answerkey.reward"} | base
    assert not {name for name in loaded if name.split(".")[2:3] in (["duckdb"], ["postgres"])}


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


@pytest.mark.parametrize("rule", [*RULES, "strict,rel_tol=0.01", "strict,digits=2"])
def test_what_rounding_leaves_of_0_is_0_by_every_rule(rule):
    rest, other = 0.1 + 0.2 - 0.3, 0.3 - 0.1 - 0.2
    known = {"order_matters": False, "rule": f"{rule},=,1" if rule == "subset" else rule}
    is_exact = not {"spider2", "digits"} & {*rule.replace("=", ",").split(",")}
    for gold, found in itertools.permutations((rest, other, 0.0), 2):
        assert score([(found,)], gold, **known) == 1.0
        assert score([("a", found)], [["a", gold]], **known) == 1.0
        tie = [{"rows": [["a", gold], ["b", 2.5]], "take": 1}]
        assert score([("a", found)], [["b", 2.5]], accepted_rows=tie, **known) == 1.0
    for small in (1e-9, 1.6e-19):
        for zero in (rest, other, 0.0):
            assert score([(zero,)], small, **known) == score([(small,)], zero, **known)
            assert score([(zero,)], small, **known) == (0.0 if is_exact else 1.0)


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


# --- test suites: what is right on the real database by chance is wrong on another


# The heaviest ship; Sun in data/databases, see the fixture `ships`.
GOLD = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
NAMES = [f"data/test_suites/ships/ships.0{number}.sqlite" for number in range(3)]
SUITE = [
    {"path": NAMES[0], "gold_answer": "Kite", "order_matters": True, "kill": "more is passed by"},
    {"path": NAMES[1], "gold_answer": [], "order_matters": False},
    {"path": NAMES[2], "gold_answer": "Åsa", "order_matters": True},
]
ROWS = ["('Sun', 1.0), ('Kite', 70.0)", None, "('Tern', 1.0), ('Åsa', 3.0), ('Zoë', 2.0)"]
KNOWN = {"database_name": "ships", "order_matters": True}
COUNTING = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def suites(ships: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of test suites, with that of the ships: two databases with rows, one without."""
    monkeypatch.delenv(SUITES_VARIABLE, raising=False)
    folder = ships.parent / "test_suites"
    (folder / "ships").mkdir(parents=True)
    for name, rows in zip(NAMES, ROWS, strict=True):
        filling = "" if rows is None else f"INSERT INTO ship VALUES {rows}"
        path = folder / "ships" / Path(name).name
        make_database(path, f"CREATE TABLE ship (name TEXT, weight REAL); {filling}")
    return folder


def explain(sql: str, **options: Any) -> Any:
    return explain_score(sql, "Sun", **{**KNOWN, "test_suite": SUITE, **options})


@pytest.mark.parametrize(
    ("sql", "reward"),
    [
        (GOLD, 1.0),
        ("SELECT name FROM ship WHERE weight = (SELECT max(weight) FROM ship)", 1.0),
        ("SELECT 'Sun'", 0.0),
        ("VALUES ('Sun')", 0.0),
        ("SELECT name FROM ship WHERE weight > 50", 0.0),
        ("SELECT min(name) FROM ship", 0.0),
        ("SELECT name FROM ship ORDER BY weight LIMIT 1", 0.0),
    ],
)
def test_every_way_to_score_uses_the_suite(suites, sql, reward):
    text = json.dumps(SUITE)
    assert score_sql(sql, "Sun", **KNOWN, test_suite=SUITE) == reward
    assert compute_score("x", fence(sql), '"Sun"', {**KNOWN, "test_suite": text}) == reward
    columns = {
        **{name: [value] * 2 for name, value in KNOWN.items()},
        "gold_answer": ['"Sun"'] * 2,
        "test_suite": [text, None],
    }
    alone = score_sql(sql, "Sun", **KNOWN)
    assert score_completions([fence(sql)] * 2, **columns) == [reward, alone]
    assert asyncio.run(score_completions_async([fence(sql)] * 2, **columns)) == [reward, alone]
    assert explain(sql).reward == reward


def test_explanation_names_the_first_database_that_differs_and_shows_its_rows(suites):
    assert explain(GOLD).database is None
    wrong = explain("SELECT name FROM ship WHERE weight > 50")
    assert (wrong.reason, wrong.database) == ("too_few_rows", NAMES[2])
    constant = explain("SELECT 'Sun'")
    assert (constant.database, constant.missing, constant.unexpected) == (
        NAMES[0],
        [("Kite",)],
        [("Sun",)],
    )
    least = explain("SELECT min(name) FROM ship WHERE weight > 50")
    assert (least.database, least.missing, least.unexpected) == (NAMES[1], [], [(None,)])


@pytest.mark.parametrize("suite", [None, []])
def test_explanation_of_a_right_answer_says_that_no_suite_tried_it(suites, suite):
    found = explain("VALUES ('Sun')", test_suite=suite)
    assert (found.reward, found.reason, found.detail) == (1.0, None, NO_SUITE)
    assert explain(GOLD).detail == ""
    assert explain("SELECT 'Kite'", test_suite=suite).detail != NO_SUITE


def test_real_database_comes_first(suites):
    for sql, reason in (("SELECT 'Kite'", "wrong_rows"), ("SELECT nam FROM ship", "sql_error")):
        found = explain(sql)
        assert (found.reason, found.database) == (reason, None)
        assert explain(sql, test_suites="nowhere") == found  # it is not even looked for


def test_query_that_fails_on_the_suite_alone_is_wrong(suites):
    sql = f"SELECT CASE (SELECT max(weight) FROM ship) WHEN 55.5 THEN 'Sun' ELSE ({COUNTING}) END"
    assert score_sql(sql, "Sun", **KNOWN) == 1.0
    found = explain(sql, max_steps=50_000_000)
    assert (found.reason, found.database) == ("step_budget_exceeded", NAMES[0])
    assert found.detail == "more than 1000000 virtual machine steps"
    found = explain(sql, max_steps=50_000_000, limits={"max_steps": 7000})
    assert found.detail == "more than 7000 virtual machine steps"


def test_row_of_all_that_can_be_counted_is_no_answer(suites):
    known = {"database_name": "ships", "order_matters": False, "rule": "spider2"}
    numbers = ("count(*)", "min(weight)", "max(weight)", "sum(weight)")
    for width, reward in ((1, 1.0), (2, 1.0), (3, 0.0), (4, 0.0)):
        sql = f"SELECT {', '.join(numbers[:width])} FROM ship"
        assert score_sql(sql, 2, **known) == reward
        assert score_sql(sql, 2, **known | {"rule": "spider2,extra_columns=2"}) == (width < 4)
    found = explain_score("SELECT 2, 2, 2", 2, **known)
    assert found.detail == "3 columns, expected 1 to 2."


def test_loose_rule_for_all_questions_is_warned_of_once(suites, caplog):
    reward_module._warn_if_loose.cache_clear()
    known = {"gold_answer": ["2"], "database_name": ["ships"], "order_matters": [False]}
    for rule in ("spider2", "spider2", "subset,=,1", "spider", "bird"):
        assert score_completions([fence("SELECT count(*) FROM ship")], **known, rule=rule) == [1.0]
        score_completions([fence("SELECT 2")], **known, rule=[rule])
        score_sql("SELECT 2", 2, database_name="ships", order_matters=False, rule=rule)
    assert [record.args[0] for record in caplog.records] == ["spider2", "subset,=,1"]
    assert "is set for all questions" in caplog.text


def test_completion_without_a_query_is_explained(ships):
    known = {"database_name": "ships", "order_matters": False}
    sql = "SELECT name FROM ship"
    gold = ["Sun", "Tern"]
    assert explain_completion(fence(sql), gold, **known).reward == 1.0
    bare = explain_completion(sql, gold, **known)
    assert (bare.reward, bare.reason) == (0.0, "no_query")
    assert "begins as SQL does, without a fence" in bare.detail
    chat = [{"role": "assistant", "content": "<think>hm"}]
    assert "nothing stands outside of <think>" in explain_completion(chat, gold, **known).detail
    wrong = explain_completion(fence("SELECT nam FROM ship"), gold, **known)
    assert (wrong.reason, wrong.detail) == ("sql_error", "no such column: nam")
    fenced = explain_score(fence(sql), gold, **known)
    assert (fenced.reward, fenced.reason) == (0.0, "sql_error")
    assert "it is a `completion`" in fenced.detail
    assert explain_score(None, gold, **known).detail == "no SQL: the prediction is null"


def test_batch_with_many_completions_without_a_query_is_warned_of_once(ships, caplog, monkeypatch):
    monkeypatch.setattr(reward_module, "_TOLD", set())
    known = {"gold_answer": "2", "database_name": "ships", "order_matters": False}

    def ask(without: int, others: int) -> list[str]:
        caplog.clear()
        completions = [fence("SELECT 2")] * others + ["SELECT 2"] * without
        columns = {name: [value] * len(completions) for name, value in known.items()}
        rewards = score_completions(completions, **columns)
        assert rewards == [1.0] * others + [0.0] * without
        return [record.getMessage() for record in caplog.records]

    assert ask(0, 8) == ask(3, 0) == ask(4, 6) == []  # few, and fewer than half
    (words,) = ask(5, 5)
    assert words.startswith("5 of 10 completions score 0.0 without a query, the first for: no SQL")
    assert "`explain_completion`" in words
    assert ask(8, 0) == []


def test_folder_is_found_by_argument_before_environment(suites, tmp_path, monkeypatch):
    monkeypatch.setenv(SUITES_VARIABLE, str(tmp_path / "nowhere"))
    words = rf"No database at /.*nowhere/ships/.*: expected the test suites .* {SUITES_VARIABLE}"
    with pytest.raises(FileNotFoundError, match=words):
        explain(GOLD)
    assert explain(GOLD, test_suites=suites).reward == 1.0
    monkeypatch.setenv(SUITES_VARIABLE, str(suites))
    with RewardPool(workers=1, databases=suites.parent / "databases") as pool:
        monkeypatch.chdir("/")
        assert pool.score_sql(GOLD, "Sun", **KNOWN, test_suite=SUITE) == 1.0


@pytest.mark.parametrize(
    ("suite", "error", "words"),
    [
        (SUITE, TypeError, "test_suite: expected JSON text, as exports have it, found list"),
        ("[", ValueError, "test_suite: expected JSON text, found '\\['"),
        ("[1]", ValueError, "test_suite: expected a list of databases with path"),
        ('[{"path": "a/b"}]', ValueError, "test_suite: expected a list of databases with path"),
    ],
)
def test_suite_that_is_none_is_an_error(suites, suite, error, words):
    with pytest.raises(error, match=words):
        compute_score("x", fence(GOLD), '"Sun"', {**KNOWN, "test_suite": suite})


def test_databases_are_kept_open_by_their_size(tmp_path, monkeypatch):
    paths = []
    for number in range(5):
        path = tmp_path / f"{number}" / f"{number}.sqlite"
        path.parent.mkdir()
        make_database(path, "CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(20000))")
        paths.append(str(path))

    def count_open() -> int:
        databases = OpenDatabases(Limits())
        for path in paths:
            databases.find(path)
        count = len(databases._open)
        for path in paths:
            databases.close(path)
        return count

    assert count_open() == 5
    monkeypatch.setattr("answerkey.scoring.worker._KEPT_BYTES", 700_000)
    assert count_open() == 3


NO_LINKS = pytest.mark.skipif(not IS_UNIX, reason="a link needs a right on Windows")


@pytest.mark.parametrize(
    "name", ["..", "../elsewhere", "//elsewhere", pytest.param("link/elsewhere", marks=NO_LINKS)]
)
def test_database_outside_of_the_folder_is_never_opened(suites, tmp_path, name):
    make_database(tmp_path / "elsewhere" / "elsewhere.sqlite", "CREATE TABLE ship (name TEXT)")
    for folder in (suites, suites.parent / "databases"):
        if IS_UNIX:
            (folder / "link").symlink_to(tmp_path)
    with pytest.raises(ValueError, match=r"Not a path in .*databases: "):
        score_sql(GOLD, "Sun", **{**KNOWN, "database_name": name})
    if name.count("/") < 2:
        path = f"{'link' if 'link' in name else '..'}/elsewhere.sqlite"
        with pytest.raises(ValueError, match=r"Not a path in .*test_suites: "):
            explain(GOLD, test_suite=[{**SUITE[0], "path": path}])


def hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_another_file_than_that_of_the_question_is_an_error_and_no_score(suites, tmp_path):
    real = suites.parent / "databases" / "ships" / "ships.sqlite"
    first, second = (suites / "ships" / Path(name).name for name in (NAMES[0], NAMES[2]))
    suite = [{**one, "sha256": hash_file(tmp_path / one["path"])} for one in SUITE]
    known = {**KNOWN, "test_suite": suite, "database_sha256": hash_file(real)}
    as_text = {**known, "test_suite": json.dumps(suite)}
    columns = {"gold_answer": ['"Sun"'], **{name: [term] for name, term in as_text.items()}}
    ways = (
        lambda: score_sql(GOLD, "Sun", **known),
        lambda: explain(GOLD, **known).reward,
        lambda: compute_score("x", fence(GOLD), '"Sun"', as_text),
        lambda: score_completions([fence(GOLD)], **columns)[0],
    )
    assert [way() for way in ways] == [1.0] * 4
    for path, changed in (
        (first, second.read_bytes()),
        (real, real.read_bytes().replace(b"Tern", b"Torn")),
    ):
        content, status = path.read_bytes(), path.stat()
        path.write_bytes(changed)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        expected, found = (hashlib.sha256(text).hexdigest() for text in (content, changed))
        for way in ways:
            words = rf"{re.escape(str(path))}: expected sha256 {expected}, .*{found}"
            with pytest.raises(ValueError, match=words):
                way()
        path.write_bytes(content)
        assert [way() for way in ways] == [1.0] * 4


@pytest.mark.skipif(not IS_UNIX, reason="the timer of the kernel is that of Unix")
def test_file_is_hashed_once_and_in_no_time_of_a_prediction(ships, monkeypatch):
    path = ships / "ships" / "ships.sqlite"
    sha256 = hash_file(path)
    timers = []

    def digest(file, name):
        timers.append(signal.getitimer(signal.ITIMER_PROF))
        return hashlib.new(name, file.read())

    monkeypatch.setattr("hashlib.file_digest", digest)
    databases = OpenDatabases(Limits())
    signal.setitimer(signal.ITIMER_PROF, 1000)
    try:
        for _ in range(2):
            databases.find(str(path), sha256=sha256)
            databases.close(str(path))
        databases.find(str(path), sha256=sha256)
        left, _ = signal.getitimer(signal.ITIMER_PROF)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert timers == [(0.0, 0.0)]
    assert 0 < left < 1001
    os.utime(path)
    databases.find(str(path), sha256=sha256)
    assert len(timers) == 2
    databases.close(str(path))


# What callers hand over as a gold answer.

TEXTS = [
    ("SELECT name FROM ship", '["Sun", "Tern"]'),
    ("SELECT name, weight FROM ship", '[["Sun", 55.5], ["Tern", 40.0]]'),
    ("SELECT max(name) FROM ship", '"Tern"'),
    ("SELECT count(*) FROM ship", "2"),
    ("SELECT max(weight) FROM ship", "55.5"),
    ("SELECT name FROM ship WHERE weight > 99", "[]"),
]
HERE = {"database_name": "ships", "order_matters": False}


@pytest.mark.parametrize(("sql", "text"), TEXTS)
def test_json_text_where_a_value_is_expected_is_told(ships, sql, text):
    rows = execute(sql, "ships")
    value = json.loads(text)
    assert score_sql(sql, value, **HERE) == score(rows, value, order_matters=False) == 1.0
    for foreign in (text, numpy.str_(text)):
        for way in (
            lambda gold: score_sql(sql, gold, **HERE),
            lambda gold: score(rows, gold, order_matters=False),
            lambda gold: score_parts(sql, gold, gold_sql=sql, **HERE),
        ):
            with pytest.raises(TypeError, match=r"gold_answer: found the text .*json\.loads"):
                way(foreign)
        assert "json.loads" in explain_score(sql, foreign, **HERE).detail
        assert "json.loads" in explain_completion(fence(sql), foreign, **HERE).detail
    assert score_sql("SELECT 'none'", text, **HERE) == 0.0


@pytest.mark.parametrize("text", ["7", "null", "[]", '["a"]', '"Sun"', "1e3", "{}", "Sun"])
def test_text_that_is_the_answer_is_no_json(ships, text):
    sql = f"SELECT '{text}'"
    assert score_sql(sql, text, **HERE) == score([(text,)], text, order_matters=False) == 1.0
    assert explain_score(sql, [text], **HERE).reward == 1.0
    assert score_completions([fence(sql)], gold_answer=[json.dumps(text)], **wrap(HERE)) == [1.0]


def test_number_is_no_text_of_a_list(ships):
    assert score_sql("SELECT 7", ["7"], **HERE) == score([(7,)], ["7"], order_matters=False) == 0.0


def wrap(known: dict[str, Any]) -> dict[str, list[Any]]:
    return {name: [value] for name, value in known.items()}


def test_lists_of_a_question_are_values_or_json_text(ships):
    sql = "SELECT name FROM ship ORDER BY weight > 0"
    known = {"database_name": "ships", "order_matters": True}
    others = [{"sql": "SELECT name FROM ship WHERE weight > 50", "answer": "Sun"}]
    for spell in (lambda value: value, json.dumps, numpy.array):
        tied = {**known, "accepted_rows": spell([2])}
        assert score(
            [("Tern",), ("Sun",)], ["Sun", "Tern"], accepted_rows=spell([2]), order_matters=True
        )
        assert score_sql(sql, ["Tern", "Sun"], **tied) == 1.0
    for spell in (lambda value: value, json.dumps):
        assert score_sql(others[0]["sql"], "Tern", **HERE, other_answers=spell(others)) == 1.0
        assert score([("Sun",)], "Tern", order_matters=False, other_answers=spell(others)) == 1.0


def test_other_right_query_may_have_an_order_of_its_own(ships):
    known: dict[str, Any] = {"database_name": "ships", "order_matters": True}
    other = {"sql": "another one", "answer": ["Tern", "Sun"]}
    for own, reward in (({}, 0.0), ({"order_matters": False}, 1.0), ({"accepted_rows": [2]}, 1.0)):
        others = [other | own]
        rows = [("Sun",), ("Tern",)]
        assert score(rows, "Kite", order_matters=True, other_answers=others) == reward
        sql = "SELECT name FROM ship ORDER BY name"
        assert score_sql(sql, "Kite", **known, other_answers=others) == reward


@pytest.mark.parametrize("answer", [{}, {"a": 1}, [{}], [[1], 2], [[[1]]]])
def test_gold_answer_that_is_none_is_refused_by_each_function(ships, answer):
    sql = "SELECT nothing"
    for way in (
        lambda: score([(1,)], answer, order_matters=False),
        lambda: score_sql(sql, answer, **HERE),
        lambda: explain_score(sql, answer, **HERE),
        lambda: explain_completion(fence(sql), answer, **HERE),
        lambda: score_completions([fence(sql)], gold_answer=[json.dumps(answer)], **wrap(HERE)),
        lambda: compute_score("x", fence(sql), json.dumps(answer), HERE),
    ):
        with pytest.raises(ValueError, match="gold_answer: expected a value"):
            way()


@pytest.mark.parametrize("steps", [0, -1, numpy.int64(-5), -2.0])
def test_budget_below_one_step_is_refused(ships, steps):
    for way in (
        lambda: score_sql("SELECT 1", 1, **HERE, max_steps=steps),
        lambda: score_completions(
            [fence("SELECT 1")], gold_answer=["1"], **wrap(HERE), max_steps=[steps]
        ),
    ):
        with pytest.raises(ValueError, match="max_steps: expected a whole number from 1, found"):
            way()


@pytest.mark.parametrize("sql", ["SELECT 1 +", "SELECT 1", "SELECT 'a'", "SELECT 1e999", None])
def test_reason_is_a_plain_text_or_none(ships, sql):
    reason = explain_score(sql, 2, **HERE).reason
    assert type(reason) is str
    assert explain_score("SELECT 2", 2, **HERE).reason is None


BAD_SCHEMAS = [(b"CREATE TABLE", b"CREATE\xffTABLE"), (b"weight REAL", b"w\xfe\x80)tt REAL")]


@pytest.mark.parametrize(("good", "bad"), BAD_SCHEMAS)
def test_corrupt_database_is_the_same_error_from_every_function(ships, good, bad):
    path = ships / "ships" / "ships.sqlite"
    content = path.read_bytes()
    assert len(good) == len(bad)
    assert good in content
    path.write_bytes(content.replace(good, bad))
    sql, columns = "SELECT name FROM ship", {"gold_answer": ['"Sun"'], **wrap(HERE)}
    for way in (
        lambda: execute(sql, "ships"),
        lambda: score_sql(sql, "Sun", **HERE),
        lambda: explain_score(sql, "Sun", **HERE),
        lambda: explain_completion(fence(sql), "Sun", **HERE),
        lambda: score_parts(sql, "Sun", gold_sql=sql, **HERE),
        lambda: compute_score("x", fence(sql), '"Sun"', HERE),
        lambda: score_completions([fence(sql)], **columns),
        lambda: score_completions(["no SQL"], **columns),
    ):
        with pytest.raises(sqlite3.DatabaseError, match=r"Corrupt database: .*ships\.sqlite: malf"):
            way()
