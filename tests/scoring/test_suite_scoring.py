"""A test suite: what is right on the real database by chance is wrong on one of the suite."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from answerkey import reward as reward_module
from answerkey.reward import (
    RewardPool,
    compute_score,
    explain_score,
    score_completions,
    score_completions_async,
    score_sql,
)
from answerkey.scoring.worker import SUITES_VARIABLE, OpenDatabases
from answerkey.sqlite.guard import Limits
from tests.shared.databases import make_database

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


def fence(sql: str) -> str:
    return f"```sql\n{sql}\n```"


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
    assert explain(GOLD) == explain(GOLD, test_suite=None)
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


@pytest.mark.parametrize("name", ["..", "../elsewhere", "//elsewhere", "link/elsewhere"])
def test_database_outside_of_the_folder_is_never_opened(suites, tmp_path, name):
    make_database(tmp_path / "elsewhere" / "elsewhere.sqlite", "CREATE TABLE ship (name TEXT)")
    for folder in (suites, suites.parent / "databases"):
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
            with pytest.raises(ValueError, match=rf"{path}: expected sha256 {expected}, .*{found}"):
                way()
        path.write_bytes(content)
        assert [way() for way in ways] == [1.0] * 4


def test_file_is_hashed_once_and_in_no_time_of_a_prediction(ships, monkeypatch):
    path = ships / "ships" / "ships.sqlite"
    sha256 = hash_file(path)
    timers = []

    def digest(file, name):
        timers.append(signal.getitimer(signal.ITIMER_PROF))
        return hashlib.new(name, file.read())

    monkeypatch.setattr("hashlib.file_digest", digest)
    first, second = OpenDatabases(Limits()), OpenDatabases(Limits())
    signal.setitimer(signal.ITIMER_PROF, 1000)
    try:
        for databases in (first, first, second):
            databases.find(str(path), sha256=sha256)
        left, _ = signal.getitimer(signal.ITIMER_PROF)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    assert timers == [(0.0, 0.0)]
    assert 0 < left < 1001
    os.utime(path)
    first.find(str(path), sha256=sha256)
    assert len(timers) == 2
    for databases in (first, second):
        databases.close(str(path))
