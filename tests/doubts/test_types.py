"""Probes of types: text that is sorted or compared as something else."""

import pytest

from answerkey.doubts.types import (
    find_date_text_order,
    find_latent_text_order,
    find_numeric_text_order,
    find_type_mismatch,
)
from tests.shared.probe_world import ProbeWorld

NUMBERS = """
CREATE TABLE ship (id INT, name TEXT, weight TEXT, sales, grade VARCHAR(5), year TEXT, n INT);
INSERT INTO ship VALUES
    (1, 'Sun', '95', '1,200', '1', '1990', 95), (2, 'Tern', '1200', '900', '2', '1991', 1200),
    (3, 'Ull', '100', '15,000', '3', '1992', 100), (4, 'Vik', NULL, '', '4', '1993', NULL);
CREATE TABLE codes (code TEXT, padded TEXT);
INSERT INTO codes VALUES ('A9', '009'), ('A10', '010'), ('7', '100'), ('B1', '099');
CREATE VIEW seen AS SELECT weight AS kilos FROM ship;
"""

BY_DIGITS = [
    "SELECT name FROM ship ORDER BY weight DESC LIMIT 1",
    "SELECT w FROM (SELECT weight AS w FROM ship) ORDER BY w DESC LIMIT 1",
    "SELECT name FROM ship ORDER BY weight COLLATE NOCASE DESC LIMIT 1",
    "SELECT max(weight) FROM ship",
    "SELECT name FROM ship WHERE weight = (SELECT max(weight) FROM ship)",
    "SELECT count(*) FROM ship WHERE weight > 98",
    "SELECT count(*) FROM ship WHERE weight BETWEEN 90 AND 150",
    "SELECT name FROM ship WHERE weight > (SELECT avg(weight) FROM ship)",
]

AGREES = [
    "SELECT name FROM ship ORDER BY grade DESC",  # one digit: the orders agree
    "SELECT code FROM codes ORDER BY code",  # mostly no numbers
    "SELECT padded FROM codes ORDER BY padded",
    "SELECT name FROM ship ORDER BY CAST(weight AS INT) DESC LIMIT 1",
    "SELECT count(*) FROM ship WHERE weight > n",  # SQLite reads the text as a number here
    "SELECT count(*) FROM ship WHERE weight > CAST(98 AS INT)",
    "SELECT max(weight, 1) FROM ship WHERE id = 9",
    'SELECT name FROM ship ORDER BY "no such column"',
]


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("numbers"), NUMBERS) as world:
        yield world


@pytest.mark.parametrize("sql", BY_DIGITS)
def test_order_of_digits_is_found(numbers, sql):
    assert numbers.find(find_numeric_text_order, sql) is not None


@pytest.mark.parametrize("sql", AGREES)
def test_order_that_agrees_is_left_alone(numbers, sql):
    assert numbers.find(find_numeric_text_order, sql) is None


LAPS = """
CREATE TABLE lap (
    id INTEGER PRIMARY KEY, took TEXT, started TEXT, share TEXT, load TEXT, berth TEXT, length TEXT
);
INSERT INTO lap VALUES
    (1, '4:32', '09:10', '22.7%', '95', '1A', '900 m'),
    (2, '3:05', '10:05', '19%', '110', '2B', '12 km'),
    (3, '3:41', '08:59', '30.5%', '95', '3C', NULL);
CREATE TABLE pit (id INTEGER PRIMARY KEY, took TEXT);
INSERT INTO pit VALUES (1, '9:59'), (2, '10:05');
"""

# The flag and its kind; None: nothing to be found.
LATENT = [
    ("SELECT id FROM lap ORDER BY took LIMIT 1", "latent_text_order", "unit"),
    ("SELECT max(share), min(share) FROM lap", "latent_text_order", "unit"),
    ("SELECT id FROM lap WHERE id > 2 ORDER BY load", "latent_text_order", "number"),
    ("SELECT id FROM pit ORDER BY took LIMIT 1", "numeric_text_order", "unit"),
    ("SELECT max(took) FROM pit", "numeric_text_order", "unit"),
    ("SELECT id FROM lap ORDER BY started LIMIT 1", None, None),  # zeros in front
    ("SELECT id FROM lap ORDER BY berth LIMIT 1", None, None),  # codes
    ("SELECT max(length) FROM lap", None, None),  # of two units, nobody knows the order
    ("SELECT id FROM lap WHERE took > '3:40'", None, None),
    ("SELECT id FROM lap ORDER BY id", None, None),
]


@pytest.fixture(scope="module")
def laps(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("laps"), LAPS) as world:
        yield world


@pytest.mark.parametrize(("sql", "code", "kind"), LATENT)
def test_order_of_text_that_other_rows_would_show(laps, sql, code, kind):
    finding = laps.find(find_numeric_text_order, sql) or laps.find(find_latent_text_order, sql)
    assert (finding and (finding.code, finding.evidence["kind"])) == (code and (code, kind))


def test_extreme_of_times_is_that_of_the_longest(laps):
    assert laps.execute_repair(find_numeric_text_order, "SELECT max(took) FROM pit") == [("10:05",)]
    order = "SELECT id FROM lap ORDER BY took"
    assert laps.execute_repair(find_latent_text_order, order) == [(2,), (3,), (1,)]


def test_evidence_shows_both_answers(numbers):
    sql = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
    assert numbers.find(find_numeric_text_order, sql).evidence == {
        "kind": "number",
        "column": "ship.weight",
        "where": "weight DESC",
        "share_of_numbers": 1.0,
        "answer": [["Sun"]],
        "answer_by_number": [["Tern"]],
        "repair": "SELECT name FROM ship ORDER BY CAST(REPLACE(weight, ',', '') AS REAL) DESC"
        " LIMIT 1",
    }


VOYAGES = """
CREATE TABLE voyage (
    id INTEGER PRIMARY KEY, began DATE, ended DATE, length TEXT, crew TEXT, paid TEXT, told TEXT
);
INSERT INTO voyage VALUES
    (1, '2001-03-01', '2001-04-09', '4:32', '9', '31.12.2019', 'May 4, 2001'),
    (2, '2003-01-01', '2004-02-28', '12:05', '10', '02.01.1990', 'June 9, 1999');
"""


@pytest.fixture(scope="module")
def voyages(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("voyages"), VOYAGES) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT id FROM voyage ORDER BY paid", "sorted"),
        ("SELECT id FROM voyage ORDER BY told DESC LIMIT 1", "sorted"),
        ("SELECT max(paid) FROM voyage", "extreme"),
        ("SELECT id FROM voyage WHERE paid > '01.01.2000'", "range"),
        ("SELECT id FROM voyage ORDER BY began", None),
        ("SELECT id FROM voyage ORDER BY length", None),
        ("SELECT id FROM voyage WHERE paid = '31.12.2019'", None),
    ],
)
def test_dates_are_sorted_as_text(voyages, sql, kind):
    finding = voyages.find(find_date_text_order, sql)
    assert (finding and finding.evidence["kind"]) == kind


SHIPS = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, hull_code TEXT, year INTEGER, built DATE, crew TEXT,
    power NUMERIC
);
INSERT INTO ship VALUES
    (1, 'Sun', '007', 1990, '1990-03-01', '9', 100),
    (2, 'Tern', '8', 2001, '2001-07-09', '10', 'null'),
    (3, 'Wren', '9', 2010, '2010-01-31', '110', 30);
"""

MISMATCHES = [
    "SELECT name FROM ship WHERE strftime('%Y', built) = 2010",
    "SELECT name FROM ship WHERE substr(built, 1, 4) > 2005",
    "SELECT name FROM ship WHERE built = 2010",
    "SELECT name FROM ship WHERE crew > 50",
    "SELECT name FROM ship WHERE hull_code IN (7, 70)",
    "WITH c AS (SELECT crew AS c FROM ship) SELECT c FROM c WHERE c > 50",
]

HARMLESS = [
    "SELECT name FROM ship WHERE year > '1990'",
    "SELECT name FROM ship WHERE hull_code = '7'",
    "SELECT name FROM ship WHERE crew = 9",  # the text is spelt as SQLite spells the number
    "SELECT name FROM ship WHERE CAST(crew AS INTEGER) > 50",
    "SELECT name FROM ship WHERE power = 100",
    "SELECT name FROM ship WHERE crew LIKE 9",
]


@pytest.fixture(scope="module")
def ships(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("ships"), SHIPS) as world:
        yield world


@pytest.mark.parametrize("sql", MISMATCHES)
def test_number_that_is_compared_with_text_is_found(ships, sql):
    assert ships.find(find_type_mismatch, sql) is not None


@pytest.mark.parametrize("sql", HARMLESS)
def test_comparison_that_types_do_not_decide_is_left_alone(ships, sql):
    assert ships.find(find_type_mismatch, sql) is None


def test_evidence_of_a_mismatch_shows_both_answers(ships):
    finding = ships.find(find_type_mismatch, "SELECT name FROM ship AS s WHERE s.crew > 50")
    assert finding.evidence == {
        "sql": "s.crew > 50",
        "answer": [["Sun"]],
        "answer_by_number": [["Wren"]],
        "repair": "SELECT name FROM ship AS s WHERE CAST(s.crew AS REAL) > 50",
    }


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    (find_numeric_text_order, None, "SELECT name FROM farm ORDER BY acres DESC LIMIT 1",
     [("Reed",)]),
    (find_numeric_text_order, None, "SELECT max(acres) FROM farm", [("1,200",)]),
    (find_type_mismatch, None, "SELECT name FROM farm WHERE acres > 200", [("Sand",)]),
    # dates: the day first, by 31; names of months; nobody knows the day in 1/2/2003
    (find_date_text_order, None, "SELECT id FROM farm ORDER BY opened", [(2,), (1,), (3,)]),
    (find_date_text_order, None, "SELECT min(opened), id FROM farm", [("4/12/1999", 2)]),
    (find_date_text_order, None, "SELECT id FROM farm WHERE opened > '1/2/2001'", [(3,)]),
    (find_date_text_order, None, "SELECT id FROM farm WHERE opened BETWEEN '2000' AND '2002'",
     [(1,)]),
    (find_date_text_order, None, "SELECT id FROM farm WHERE opened > 2000", None),
    (find_date_text_order, None, "SELECT id FROM trip ORDER BY named", [(1,), (2,)]),
    (find_date_text_order, None, "SELECT id FROM trip ORDER BY shown DESC LIMIT 1", [(1,)]),
    (find_date_text_order, None, "SELECT id FROM trip ORDER BY short", None),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows
