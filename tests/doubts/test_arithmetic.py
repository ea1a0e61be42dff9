"""Arithmetic on text, of which SQLite takes the number at its start, or 0."""

import pytest

from answerkey.doubts.arithmetic import find_text_arithmetic
from tests.shared.probe_world import ProbeWorld

YARD = """
CREATE TABLE hull (
    id INTEGER PRIMARY KEY, owner TEXT, mass TEXT, speed TEXT, lap TEXT, price TEXT, load TEXT,
    laid DATE, launched DATE, born INT, sunk INT
);
INSERT INTO hull VALUES
    (1, 'Ito', '90', '12 kn', '4:32', '$5', '7', '2019-01-31', '2020-02-01', 1990, 2001),
    (2, 'Ito', 'unknown', '14 kn', '12:05', '$7', NULL, '2019-12-31', '2020-01-01', 1991, 2002),
    (3, 'Ada', '30', '9 kn', '3:00', '$1', '9', NULL, NULL, 1992, NULL);
"""

FIRE = [
    ("no_number", "SELECT avg(mass) FROM hull", [(60.0,)]),
    (
        "no_number",
        "SELECT owner, avg(mass) FROM hull GROUP BY owner",
        [("Ada", 30.0), ("Ito", 90.0)],
    ),
    ("unread", "SELECT avg(lap) FROM hull", None),
    ("unread", "SELECT sum(price) FROM hull WHERE id < 3", None),
    ("date", "SELECT launched - laid FROM hull WHERE id = 2", [(1.0,)]),
    ("date", "SELECT id FROM hull ORDER BY launched - laid DESC LIMIT 1", [(1,)]),
]

HARMLESS = [
    "SELECT sum(mass) FROM hull",  # 'unknown' adds nothing
    "SELECT avg(mass) FROM hull WHERE mass <> 'unknown'",
    "SELECT avg(speed) FROM hull",  # SQLite reads all of its digits
    "SELECT avg(load) FROM hull",
    "SELECT avg(born), sunk - born FROM hull",
    "SELECT max(lap) FROM hull",
    "SELECT julianday(launched) - julianday(laid) FROM hull",
    "SELECT avg(laid) FROM hull",
]


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("yard"), YARD) as world:
        yield world


@pytest.mark.parametrize(("kind", "sql", "rows"), FIRE)
def test_text_that_is_no_number_is_found(yard, kind, sql, rows):
    finding = yard.ask(find_text_arithmetic, "How long did it take?", sql)
    assert finding.evidence["kind"] == kind
    assert yard.execute_repair(find_text_arithmetic, sql, "How long did it take?") == rows


@pytest.mark.parametrize("sql", HARMLESS)
def test_arithmetic_that_text_does_not_change_is_left_alone(yard, sql):
    assert yard.ask(find_text_arithmetic, "How long did it take?", sql) is None


def test_who_asks_for_years_gets_years(yard):
    sql = "SELECT launched - laid FROM hull"
    assert yard.ask(find_text_arithmetic, "How many years did it take?", sql) is None
    assert yard.ask(find_text_arithmetic, "How many days did it take?", sql) is not None
