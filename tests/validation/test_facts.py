"""derived_facts: gold SQL and a database say what a question is held against."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from answerkey.sections.classify_difficulty import SOURCE, SPIDER, DifficultyRule
from answerkey.validation.checks import Facts, MissingDatabaseError, UnknownFactsError
from answerkey.validation.facts import RULE_OF_TABLES, derive_facts
from answerkey.validation.sidecars import Known

SQL = """
CREATE TABLE Ship (id INTEGER PRIMARY KEY, name, weight);
INSERT INTO Ship VALUES (1, 'Sun', 4), (2, 'Tern', 7), (3, 'Wren', 7);
CREATE TABLE port (id);
CREATE VIEW heavy AS SELECT * FROM Ship WHERE weight > 5;
"""


@pytest.fixture
def paths(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name in ("harbour", "library"):
        paths[name] = tmp_path / f"{name}.sqlite"
        with contextlib.closing(sqlite3.connect(paths[name])) as connection:
            connection.executescript(SQL)
    return paths


def ask(gold_sql: str, *, name: str = "harbour") -> dict[str, str]:
    return {
        "question_id": f"{name}_train_000",
        "database_name": name,
        "gold_sql": gold_sql,
    }


def find(
    paths: dict[str, Path], gold_sql: str, rule: DifficultyRule = RULE_OF_TABLES, **known: Any
) -> Facts:
    with derive_facts(paths, Known(**known), rule=rule) as look_up:
        return look_up(ask(gold_sql))


@pytest.mark.parametrize(
    ("gold_sql", "tables"),
    [
        ("SELECT name FROM SHIP", ["Ship"]),
        ("SELECT 1", []),
        ("SELECT name FROM heavy WHERE id NOT IN port", ["heavy", "port"]),
        ("WITH port AS (SELECT 1 AS id) SELECT name FROM ship JOIN port USING (id)", ["Ship"]),
    ],
)
def test_tables_are_spelled_as_the_schema_has_them(paths, gold_sql, tables):
    assert find(paths, gold_sql).tables_involved == tables


@pytest.mark.parametrize(
    ("gold_sql", "order"),
    [
        ("SELECT name FROM ship", False),
        ("SELECT name FROM ship ORDER BY name", True),
        ("SELECT name FROM ship ORDER BY weight", [1, 2]),  # two ships weigh 7
        ("SELECT weight FROM ship ORDER BY weight", True),
        ("SELECT name FROM (SELECT name FROM ship ORDER BY name)", False),
    ],
)
def test_order_matters_where_order_by_fixes_it(paths, gold_sql, order):
    assert find(paths, gold_sql).order_matters == order


def test_order_is_what_the_caller_says_it_is(paths):
    gold_sql = "SELECT name FROM ship ORDER BY name"
    assert not find(paths, gold_sql, order_matters={}).order_matters
    assert find(paths, "SELECT 1", order_matters={"harbour_train_000": True}).order_matters


@pytest.mark.parametrize(
    ("count", "difficulty"), [(1, "easy"), (2, "easy"), (3, "medium"), (4, "hard"), (5, "hard")]
)
def test_difficulty_follows_from_the_number_of_tables(paths, count, difficulty):
    with contextlib.closing(sqlite3.connect(paths["harbour"])) as connection:
        for number in range(count):
            connection.execute(f"CREATE TABLE t{number} (a)")
    tables = ", ".join(f"t{number}" for number in range(count))
    assert find(paths, f"SELECT count(*) FROM {tables}").difficulty == difficulty


def test_difficulty_is_that_of_another_rule(paths):
    values = {name: getattr(RULE_OF_TABLES, name) for name in RULE_OF_TABLES.__slots__}
    spider = type(RULE_OF_TABLES)(**{**values, "method": SPIDER})
    gold_sql = "SELECT name FROM ship EXCEPT SELECT name FROM heavy"
    assert (find(paths, gold_sql).difficulty, find(paths, gold_sql, rule=spider).difficulty) == (
        "easy",
        "hard",
    )
    source = type(RULE_OF_TABLES)(
        **{**values, "method": SOURCE, "source_levels": {"simple": "easy", "moderate": "medium"}}
    )
    words = {"harbour_train_000": "moderate"}
    assert find(paths, gold_sql, rule=source).difficulty == "easy"
    assert find(paths, gold_sql, rule=source, source_difficulties=words).difficulty == "medium"
    with pytest.raises(UnknownFactsError, match="the corpus says 'odd'"):
        find(paths, gold_sql, rule=source, source_difficulties={"harbour_train_000": "odd"})


def test_answer_is_that_of_the_database_that_the_question_names(paths):
    with contextlib.closing(sqlite3.connect(paths["library"])) as connection:
        connection.executescript("INSERT INTO Ship VALUES (4, 'Kite', 1)")
    with derive_facts(paths) as look_up:
        for name, answer in (("harbour", 3), ("library", 4), ("harbour", 3)):
            assert look_up(ask("SELECT count(*) FROM ship", name=name)).answer == answer


@pytest.mark.parametrize(
    ("gold_sql", "message"),
    [
        ("SELECT wage FROM ship", "SQL execution failed for harbour: no such column: wage"),
        ("DELETE FROM ship", "SQL execution failed for harbour: DELETE Ship refused"),
        ("SELECT name FROM ship WHERE id IN (1, 2) COLLATE nocase", "Line 1"),
        (
            "WITH a0 AS (SELECT name FROM ship)"
            + "".join(f", a{n + 1} AS (SELECT name FROM a{n})" for n in range(600))
            + " SELECT name FROM a600 ORDER BY name",
            "more than 2000 tokens",
        ),
    ],
)
def test_query_that_does_not_run_or_parse_is_told(paths, gold_sql, message):
    with pytest.raises(UnknownFactsError, match=re.escape(message)):
        find(paths, gold_sql)


def test_database_without_a_path_or_a_file_is_told(paths, tmp_path):
    with derive_facts(paths | {"gone": tmp_path / "gone.sqlite"}) as look_up:
        with pytest.raises(MissingDatabaseError, match="club: expected its path, found none"):
            look_up(ask("SELECT 1", name="club"))
        with pytest.raises(MissingDatabaseError, match=r"gone: expected a database at .*gone\.sq"):
            look_up(ask("SELECT 1", name="gone"))
        assert look_up(ask("SELECT count(*) FROM ship")).answer == 3


def test_file_that_is_no_database_is_an_error_of_sqlite(paths):
    paths["harbour"].write_bytes(b"not a database " * 100)
    with pytest.raises(sqlite3.DatabaseError):
        find(paths, "SELECT 1")
