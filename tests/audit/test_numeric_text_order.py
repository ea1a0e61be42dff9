"""Numbers stored as text, sorted and compared as text."""

import pytest

from answerkey.probes.types import find_numeric_text_order
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INT, name TEXT, weight TEXT, sales, grade VARCHAR(5), year TEXT, n INT);
INSERT INTO ship VALUES
    (1, 'Sun', '95', '1,200', '1', '1990', 95), (2, 'Tern', '1200', '900', '2', '1991', 1200),
    (3, 'Ull', '100', '15,000', '3', '1992', 100), (4, 'Vik', NULL, '', '4', '1993', NULL);
CREATE TABLE codes (code TEXT, padded TEXT);
INSERT INTO codes VALUES ('A9', '009'), ('A10', '010'), ('7', '100'), ('B1', '099');
CREATE VIEW seen AS SELECT weight AS kilos FROM ship;
"""

FIRE = [
    "SELECT name FROM ship WHERE weight > 0 ORDER BY weight",
    "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
    "SELECT name, weight AS w FROM ship ORDER BY w DESC LIMIT 1",
    "SELECT T1.name FROM ship AS T1 ORDER BY T1.sales DESC LIMIT 1",
    "SELECT kilos FROM seen ORDER BY kilos",
    "SELECT w FROM (SELECT weight AS w FROM ship) ORDER BY w DESC LIMIT 1",
    "SELECT name FROM ship ORDER BY weight COLLATE NOCASE DESC LIMIT 1",
    "SELECT max(weight) FROM ship",
    "SELECT max(weight) || ' kg' FROM ship",
    "SELECT sales FROM ship ORDER BY sales DESC",
    "SELECT name FROM ship ORDER BY weight DESC LIMIT 0, 1",
    "SELECT min(weight), count(*) FROM ship",
    "SELECT name FROM ship WHERE weight = (SELECT max(weight) FROM ship)",
    "SELECT count(*) FROM ship WHERE weight > 98",
    "SELECT count(*) FROM ship WHERE '98' < weight",
    "SELECT count(*) FROM ship WHERE weight BETWEEN 90 AND 150",
    "SELECT name FROM ship WHERE weight > (SELECT avg(weight) FROM ship)",
    "SELECT name FROM ship EXCEPT SELECT name FROM ship WHERE weight >= 500",
]

HOLD = [
    "SELECT name FROM ship ORDER BY name",
    "SELECT name FROM ship ORDER BY n DESC LIMIT 1",
    "SELECT name FROM ship ORDER BY grade DESC",  # one digit: the orders agree
    "SELECT name FROM ship ORDER BY year",
    "SELECT count(*) FROM ship WHERE year > 1990",
    "SELECT name FROM ship WHERE year = (SELECT max(year) FROM ship)",
    "SELECT name FROM ship WHERE grade = (SELECT max(grade) FROM ship)",
    "SELECT code FROM codes ORDER BY code",  # mostly no numbers
    "SELECT padded FROM codes ORDER BY padded",
    "SELECT name FROM ship ORDER BY CAST(weight AS INT) DESC LIMIT 1",
    "SELECT name FROM ship ORDER BY weight + 0 DESC LIMIT 1",
    "SELECT count(*) FROM ship WHERE CAST(weight AS REAL) > 98",
    "SELECT count(*) FROM ship WHERE weight > n",  # SQLite reads the text as a number here
    "SELECT count(*) FROM ship WHERE weight > CAST(98 AS INT)",
    "SELECT count(*) FROM ship WHERE sales > CAST(5000 AS INT)",  # a mismatch of types, not this
    "SELECT count(*) FROM ship a JOIN ship b ON a.sales <= b.n",
    "SELECT count(*) FROM ship WHERE weight = 100",
    "SELECT count(weight), max(n) FROM ship",
    "SELECT max(weight, 1) FROM ship WHERE id = 9",
    "SELECT name FROM ship WHERE name <> 'order by weight'",
    "SELECT name FROM ship WHERE id = 1 ORDER BY weight",
    'SELECT name FROM ship ORDER BY "no such column"',
    "SELECT name FROM ship ORDER BY rowid DESC",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("numeric"), WORLD) as world:
        yield world


@pytest.mark.parametrize("sql", FIRE)
def test_order_of_digits_is_found(world, sql):
    assert world.find(find_numeric_text_order, sql) is not None


@pytest.mark.parametrize("sql", HOLD)
def test_order_that_agrees_is_left_alone(world, sql):
    assert world.find(find_numeric_text_order, sql) is None


def test_evidence_shows_both_answers(world):
    sql = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
    assert world.find(find_numeric_text_order, sql).evidence == {
        "column": "ship.weight",
        "where": "weight DESC",
        "share_of_numbers": 1.0,
        "answer": [["Sun"]],
        "answer_by_number": [["Tern"]],
    }
