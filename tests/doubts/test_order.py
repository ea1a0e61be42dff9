"""Probes of order: rows that tie, ORDER BY in vain, the other end, columns that a group leaves
open."""

import pytest

from answerkey.doubts.order import (
    find_bare_column,
    find_direction_mismatch,
)
from tests.shared.probe_world import ProbeWorld

HARBOURS = """
CREATE TABLE harbour (id INT PRIMARY KEY, name TEXT NOT NULL UNIQUE, country TEXT);
INSERT INTO harbour VALUES (1, 'Alda', 'NL'), (2, 'Bree', 'BE'), (3, 'Cley', 'NL');
CREATE TABLE ship (id INT PRIMARY KEY, name TEXT, harbour_id INT, weight INT, built TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 1, 5, '1990-01-01'), (2, 'Tern', 1, 5, '1991-02-02'), (3, 'Ull', 2, 9, '1990-01-01'),
    (4, 'Vik', 3, 9, '1980-01-01'), (5, 'Vik', 3, 8, '1980-05-05');
CREATE TABLE crew (ship_id INT, rank TEXT, age INT);
INSERT INTO crew VALUES (1, 'mate', 30), (1, 'cook', NULL), (2, 'mate', 30), (2, 'mate', NULL);
CREATE TABLE berth (id INT PRIMARY KEY, name TEXT, number TEXT);
INSERT INTO berth VALUES (1, 'east', '1'), (NULL, 'north', '01'), (NULL, 'south', '2');
"""

OPEN = [
    "SELECT name, count(*) FROM ship GROUP BY harbour_id",
    "SELECT name, count(*) FILTER (WHERE weight > 8) FROM ship GROUP BY harbour_id",
    "SELECT *, count(*) FROM (SELECT name, harbour_id FROM ship) GROUP BY harbour_id",
    "SELECT T1.*, max(T1.weight), min(weight) FROM ship AS T1 GROUP BY T1.harbour_id",
    "SELECT count(*) FROM ship GROUP BY harbour_id HAVING name = 'Tern'",
    "SELECT harbour_id FROM ship GROUP BY 1 ORDER BY name = 'Sun' DESC, harbour_id DESC LIMIT 1",
    "SELECT ship_id, age FROM crew GROUP BY ship_id",  # 30 or NULL
    "SELECT name FROM harbour UNION SELECT name FROM ship GROUP BY harbour_id",
]

SETTLED = [
    "SELECT max(weight) FROM ship ORDER BY name LIMIT 1",  # one row, whatever it is sorted by
    # determined by the schema
    "SELECT name, count(*) FROM berth GROUP BY id",  # a key, whatever is missing in it
    "SELECT name AS n, count(*) FROM ship GROUP BY n",
    "SELECT T1.name, T1.country FROM harbour T1 JOIN ship T2 ON T1.id = T2.harbour_id"
    " GROUP BY T2.harbour_id",
    "SELECT harbour_id, count(*) FROM ship WHERE harbour_id = 1",
    "SELECT substr(built, 1, 4) FROM ship GROUP BY substr(built, 1, 4)",
    # determined by the data
    "SELECT name, count(*) FROM ship WHERE harbour_id = 3 GROUP BY weight",
    # not in the answer
    "SELECT count(*) FROM (SELECT name FROM ship GROUP BY harbour_id)",
    # the row that has the extreme
    "SELECT name, max(weight) FROM ship WHERE id <> 3",
    # no group at all
    "SELECT name, max(weight, id), count(*) OVER (PARTITION BY harbour_id) FROM ship",
    "SELECT (SELECT max(age) + s.id FROM crew) FROM ship s",
    "SELECT 'name', \"count\", count(*) FROM ship GROUP BY harbour_id",
]


@pytest.fixture(scope="module")
def harbours(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("bare"), HARBOURS) as world, world.copied():
        yield world


@pytest.mark.parametrize("sql", OPEN)
def test_bare_column_is_found(harbours, sql):
    assert harbours.find(find_bare_column, sql) is not None


@pytest.mark.parametrize("sql", SETTLED)
def test_settled_column_is_left_alone(harbours, sql):
    assert harbours.find(find_bare_column, sql) is None


def test_evidence_names_the_column_and_the_keys(harbours):
    sql = "SELECT harbour_id, name FROM ship GROUP BY harbour_id"
    evidence = {"column": "name", "group_by": ["harbour_id"]}
    assert harbours.find(find_bare_column, sql).evidence == evidence


OTHERWISE = [
    ("The port of the fewest berths?",
     "SELECT name FROM port ORDER BY berths DESC LIMIT 1"),
    ("What is the smallest crew?", "SELECT max(crew) FROM ship"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY age DESC LIMIT 1"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year LIMIT 1"),
    ("The oldest port?", "SELECT name FROM port ORDER BY opened DESC LIMIT 1"),
    ("The most recent visit?", "SELECT ship FROM visit ORDER BY day LIMIT 1"),
    ("The top 2 ports of the most depth?",
     "SELECT name FROM port ORDER BY depth LIMIT 2"),
    ("Ports in descending order of depth.", "SELECT name FROM port ORDER BY depth"),
]  # fmt: skip
AS_ASKED = [
    ("Which port has the fewest berths?", "SELECT name FROM port ORDER BY berths LIMIT 1"),
    ("The youngest ship?", "SELECT name FROM ship ORDER BY birth_year DESC LIMIT 1"),
    ("The oldest port?", "SELECT name FROM port ORDER BY opened LIMIT 1"),
    ("The ship of the highest rank?", "SELECT name FROM ship ORDER BY rank LIMIT 1"),
    ("The furthest south of all ports?", "SELECT name FROM port ORDER BY depth LIMIT 1"),
    ("The shallowest of at least 5 berths.", "SELECT name FROM port ORDER BY depth LIMIT 1"),
    ("Most of the ships, by crew.", "SELECT name FROM ship ORDER BY crew LIMIT 2"),
    ("The ship called 'Largest', and the least crew.", "SELECT min(crew) FROM ship"),
    ("Ships in ascending order of age.", "SELECT name FROM ship ORDER BY birth_year DESC"),
    ("Ports by depth, descending.", "SELECT name FROM port ORDER BY depth DESC"),
    ("The most economical ship?", "SELECT name FROM ship ORDER BY crew LIMIT 1"),
]


@pytest.mark.parametrize(("text", "sql"), OTHERWISE)
def test_other_end_than_is_asked_for_is_found(harbour, text, sql):
    assert harbour.ask(find_direction_mismatch, text, sql) is not None


@pytest.mark.parametrize(("text", "sql"), AS_ASKED)
def test_end_that_is_asked_for_is_no_finding(harbour, text, sql):
    assert harbour.ask(find_direction_mismatch, text, sql) is None


def test_evidence_of_the_corpus_decides_a_direction(harbour):
    sql = "SELECT name FROM ship ORDER BY crew LIMIT 1"
    text = "The highest class of ships?"
    assert harbour.ask(find_direction_mismatch, text, sql) is not None
    assert harbour.ask(find_direction_mismatch, text, sql, evidence="highest is MIN(crew)") is None
    evidence = "the larger the crew, the lower the class"
    assert harbour.ask(find_direction_mismatch, text, sql, evidence=evidence) is None


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    # the other end, where NULL is none
    (find_direction_mismatch, "Which cow gives the most litres?",
     "SELECT name FROM cow ORDER BY litres LIMIT 1", [("Bea",)]),
    (find_direction_mismatch, "What are the fewest litres of a cow?",
     "SELECT name FROM cow WHERE litres = (SELECT max(litres) FROM cow)", [("Cia",)]),
    (find_direction_mismatch, "Names of cows by litres in descending order",
     "SELECT name FROM cow ORDER BY litres", [("Bea",), ("Dot",), ("Ada",), ("Cia",)]),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows
