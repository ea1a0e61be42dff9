"""Every rule of alternatives is declared once, and its example is what it makes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from answerkey.alternatives.neighbors import (
    NEIGHBORS,
    NEIGHBORS_OF_ROWS,
    NEIGHBORS_OF_TYPED_DIALECTS,
    list_neighbors,
    list_neighbors_of_rows,
)
from answerkey.alternatives.readings import READINGS_BY_NAME, list_readings
from answerkey.alternatives.rules import DOUBTS, EXAMPLE, REASONS, RULES, Role, Rule, list_rules
from answerkey.engines.names import SQLITE
from answerkey.engines.sqlite.schema import read_schema
from answerkey.flags import FLAGS
from answerkey.rewrites.trees import Change
from answerkey.rewrites.weak import COUNT_BY_HEART, WEAK_QUERY, list_fitted, list_weak
from answerkey.sql.query_tree import parse_sql, speaking
from answerkey.sql.scopes import Scopes
from tests.shared.paths import ROOT
from tests.shared.transcripts import put_table


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(EXAMPLE)
        yield connection


def list_alternatives(rule: Rule, database: sqlite3.Connection) -> list[Change]:
    def find_rows(sql: str, *, max_steps: int = 0) -> list[tuple]:
        return database.execute(sql).fetchall()

    schema, tree = read_schema(database), parse_sql(rule.gold)
    if rule.role == Role.READING:
        return list_readings(tree, schema, rule.question, find_rows)
    scopes = Scopes(tree, schema)
    codes = list_neighbors_of_rows(scopes, find_rows, max_neighbors=60)
    rows = find_rows(rule.gold)
    weak = list_weak(scopes, rows) + list_fitted(scopes, rows, find_rows)
    return codes + weak + list_neighbors(tree, schema, max_neighbors=60)


def test_every_rule_is_declared_once_and_every_other_one_is_gone() -> None:
    assert len(REASONS) == len(RULES)
    names = {Role.READING: set(READINGS_BY_NAME), Role.NEIGHBOR: {WEAK_QUERY, COUNT_BY_HEART}}
    listed = (*NEIGHBORS, *NEIGHBORS_OF_ROWS, *NEIGHBORS_OF_TYPED_DIALECTS)
    names[Role.NEIGHBOR] |= {neighbor.name for neighbor in listed}
    for role in Role:
        ruled = {rule.name for rule in RULES if rule.role == role}
        assert sorted(names[role] - ruled) == [], "put a Rule of each into RULES"
        assert sorted(ruled - names[role]) == [], f"no {role} has the name of this Rule"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_example_of_a_rule_is_what_it_makes(rule: Rule, database: sqlite3.Connection) -> None:
    if rule.engine != SQLITE:
        schema = replace(read_schema(database), engine=rule.engine)
        with speaking(rule.engine):
            neighbors = list_neighbors(parse_sql(rule.gold), schema, max_neighbors=60)
        assert [name for name, sql in neighbors if sql == rule.alternative] == [rule.name]
        return
    database.execute(rule.gold).fetchall()
    database.execute(rule.alternative).fetchall()
    assert Change(rule.name, rule.alternative) in list_alternatives(rule, database)


def test_every_reading_says_its_doubt_in_a_sentence_and_no_flag_has_its_name() -> None:
    for rule in RULES:
        assert bool(rule.doubt) == (rule.role == Role.READING)
    assert all(words[0].isupper() and words[-1] == "." for words in DOUBTS.values())
    assert not set(DOUBTS) & set(FLAGS)


def test_page_has_the_table_that_is_printed(expect_page: Callable[[str, str], None]) -> None:
    page = (ROOT / "docs/doubts.md").read_text(encoding="utf-8")
    expect_page("docs/doubts.md", put_table(page, "rule", list_rules()))
