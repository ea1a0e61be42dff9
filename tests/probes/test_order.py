"""Probes of order: rows that tie, ORDER BY in vain, the other end, columns that a group leaves
open."""

import pytest

from answerkey.probes.audit import PROBES
from answerkey.probes.order import (
    find_bare_column,
    find_direction_mismatch,
    find_extreme_dropped,
    find_limit_on_joined_rows,
    find_order_without_effect,
)
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, port TEXT, weight INTEGER, crew INTEGER
);
CREATE TABLE port (name TEXT PRIMARY KEY, country TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 'Alda', 10, NULL), (2, 'Tern', 'Alda', 20, 4),
    (3, 'Wren', 'Bree', 30, 5), (4, 'Gull', NULL, 20, 6);
INSERT INTO port VALUES ('Alda', 'Norway'), ('Bree', 'Spain');
"""
FOUND = {
    "limit_on_joined_rows": [
        (
            "SELECT s.name FROM ship AS s JOIN port AS p ON s.port = p.name"
            " ORDER BY p.country LIMIT 1",
            "one",
        ),
        (
            "SELECT p.name FROM port AS p JOIN ship AS s ON s.port = p.name"
            " ORDER BY p.country DESC LIMIT 2",
            "several",
        ),
    ],
    "order_without_effect": [
        ("SELECT avg(weight) FROM ship ORDER BY crew DESC LIMIT 1", "order"),
        ("SELECT count(*) FROM ship LIMIT 3", "limit"),
        ("SELECT name FROM ship WHERE weight > (SELECT avg(crew) FROM ship ORDER BY id)", "order"),
    ],
}
LEFT_ALONE = {
    "limit_on_joined_rows": [
        "SELECT p.name FROM ship AS s JOIN port AS p ON s.port = p.name ORDER BY p.country LIMIT 1",
        "SELECT DISTINCT p.name FROM ship AS s JOIN port AS p ON s.port = p.name"
        " ORDER BY p.country LIMIT 2",
        "SELECT s.name FROM ship AS s JOIN port AS p ON s.name = p.name ORDER BY p.country LIMIT 1",
        "SELECT s.port FROM ship AS s JOIN port AS p ON s.port = p.name"
        " GROUP BY s.port ORDER BY p.country LIMIT 1",
    ],
    "order_without_effect": [
        "SELECT max(weight) FROM ship LIMIT 1",
        "SELECT port, avg(weight) FROM ship GROUP BY port ORDER BY 2 LIMIT 1",
    ],
}


ALL = {probe.__name__.removeprefix("find_"): probe for probe in PROBES}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("short"), WORLD) as world:
        yield world


def _list_cases(table):
    return [(flag, case) for flag, cases in table.items() for case in cases]


@pytest.mark.parametrize(("flag", "case"), _list_cases(FOUND))
def test_probe_speaks(world, flag, case):
    sql, kind = case
    finding = world.find(ALL[flag], sql)
    assert finding is not None
    assert finding.code == flag
    assert finding.evidence.get("kind") == kind


@pytest.mark.parametrize(("flag", "sql"), _list_cases(LEFT_ALONE))
def test_probe_is_silent(world, flag, sql):
    assert world.find(ALL[flag], sql) is None


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
    (
        find_limit_on_joined_rows,
        None,
        "SELECT f.year FROM cow AS c JOIN fair AS f ON f.cow_id = c.id ORDER BY c.litres DESC"
        " LIMIT 1",
        [(2020,), (2022,)],
    ),
    (find_order_without_effect, None, "SELECT avg(litres) FROM cow ORDER BY age LIMIT 2",
     [(15.0,)]),
    (
        find_order_without_effect,
        None,
        "SELECT sum(c.litres), count(*) FROM cow AS c JOIN farm AS f ON f.id = c.farm_id"
        " ORDER BY f.name DESC LIMIT 1",
        [(35, 2)],
    ),
    (find_order_without_effect, None, "SELECT count(*) FROM cow ORDER BY age", None),
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


TRIALS = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, weight INT, kind TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 90, 'Barge'), (2, 'Tern', 40, 'Ferry'), (3, 'Gull', 60, 'Ferry');
CREATE TABLE trial (ship_id INT REFERENCES ship (id), verdict TEXT, year INT);
INSERT INTO trial VALUES (2, 'good', 2001), (3, 'bad', 2002);
"""
TRIED = "FROM trial AS t JOIN ship AS s ON s.id = t.ship_id"
HEAVIEST = "What is the verdict on the heaviest ship?"
DROPPED = [
    (HEAVIEST, f"SELECT t.verdict {TRIED} ORDER BY s.weight DESC LIMIT 1", []),
    (
        "How many trials had the heaviest ship?",
        f"SELECT count(*) {TRIED} GROUP BY s.id ORDER BY s.weight DESC LIMIT 1",
        None,
    ),
]
NOT_DROPPED = [
    ("What is the verdict on the lightest ship?",
     f"SELECT verdict {TRIED} ORDER BY weight LIMIT 1"),
    (HEAVIEST, f"SELECT verdict {TRIED} WHERE kind = 'Ferry' ORDER BY weight DESC LIMIT 1"),
    (HEAVIEST, f"SELECT verdict {TRIED} WHERE year > 2000 ORDER BY weight DESC LIMIT 1"),
    ("What was the verdict on the most weight?",
     f"SELECT verdict {TRIED} ORDER BY weight DESC LIMIT 1"),
    (HEAVIEST, f"SELECT verdict {TRIED.replace('JOIN', 'LEFT JOIN')} ORDER BY weight DESC LIMIT 1"),
    (HEAVIEST, f"SELECT verdict {TRIED} ORDER BY weight DESC LIMIT 2"),
    (HEAVIEST, "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("trials"), TRIALS) as world:
        yield world


@pytest.mark.parametrize(("text", "sql", "rows"), DROPPED)
def test_thing_that_a_join_drops_is_not_first(trials, text, sql, rows):
    finding = trials.ask(find_extreme_dropped, text, sql)
    assert (finding.evidence["first"], finding.evidence["taken"]) == (90, 60)
    assert trials.execute_repair(find_extreme_dropped, sql, text) == rows


@pytest.mark.parametrize(("text", "sql"), NOT_DROPPED)
def test_first_of_what_is_asked_for_is_no_finding(trials, text, sql):
    assert trials.ask(find_extreme_dropped, text, sql) is None
