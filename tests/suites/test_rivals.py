"""Rivals: what the real database says of them, and what a question takes from a query it shares."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from answerkey.engines.names import DUCKDB, POSTGRES
from answerkey.rewrites.trees import Change
from answerkey.suites.questions import SuiteQuestion
from answerkey.suites.rivals import BY_HEART, Case, OnReal, RealDatabase, read_cases
from tests.shared.engine_world import open_world
from tests.suites.real import open_real

SHIPS = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, tons INTEGER);
INSERT INTO ship VALUES (1, 'Sun', 10), (2, 'Tern', 20), (3, 'Kite', 20);
"""
GOLD = "SELECT name FROM ship WHERE tons > 15"


@pytest.fixture
def real(tmp_path: Path) -> Iterator[RealDatabase]:
    with open_real(tmp_path / "ships.sqlite", SHIPS) as real:
        yield real


def read(real: RealDatabase, *questions: SuiteQuestion) -> list[Case]:
    return read_cases([*questions], real, max_neighbors=60)


def test_each_rival_has_one_fate_and_the_stored_answer_survives(real):
    (case,) = read(real, SuiteQuestion("q", GOLD, order=False))
    fates = {rival.sql: rival.on_real for rival in case.gold.rivals}
    assert fates["SELECT name FROM ship WHERE tons >= 15"] is OnReal.SURVIVES
    assert fates["SELECT name FROM ship"] is OnReal.KILLED
    assert fates['SELECT count(*) FROM "ship"'] is OnReal.UNASKED
    assert case.gold.by_heart is case.survivors[-1]
    assert case.gold.by_heart.name == BY_HEART
    assert {*case.survivors}.isdisjoint(case.others)
    assert {*case.survivors, *case.others} == {*case.gold.rivals}


def test_questions_share_a_gold_query_and_not_the_readings(real):
    reading = Change("at_least", "SELECT name FROM ship WHERE tons >= 15")
    plain, read_otherwise = read(
        real,
        SuiteQuestion("q0", GOLD, order=False),
        SuiteQuestion("q1", GOLD, order=False, readings=(reading,)),
    )
    assert plain.gold is read_otherwise.gold
    left_out = {*plain.survivors} - {*read_otherwise.survivors}
    assert [rival.sql for rival in left_out] == [reading.sql]


def test_query_that_was_stopped_is_asked_again_with_more_steps_and_no_other(real):
    (case,) = read(real, SuiteQuestion("q", GOLD, order=False))
    stored = case.gold.stored
    slow = "SELECT count(*) FROM ship a, ship b, ship c, ship d, ship e, ship f, ship g, ship h"
    assert real.kills(stored, slow, max_steps=1000) is None
    assert real.kills(stored, slow, max_steps=100_000) is True
    assert real.kills(stored, slow, max_steps=1000) is True


@pytest.mark.parametrize("engine", [DUCKDB, POSTGRES])
def test_query_that_a_typed_engine_refuses_is_no_rival(engine, tmp_path):
    rows = "INSERT INTO ship VALUES (1, 'Sun', '2020-03-01'), (2, 'Tern', '2021-03-01');"
    table = f"CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, built DATE);\n{rows}"
    gold = "SELECT name FROM ship WHERE built > '2020-03-01'"
    with open_world(engine, tmp_path, table) as world:
        typed = RealDatabase(world.real, world.schema)
        (case,) = read_cases([SuiteQuestion("q", gold, order=False)], typed, max_neighbors=60)
        names = {rival.sql: rival.name for rival in case.gold.rivals}
        assert "text_affix" not in names.values()
        for day in ("2020-03-02", "2020-02-29"):
            assert names[f"SELECT name FROM ship WHERE built > '{day}'"] == "other_date"
