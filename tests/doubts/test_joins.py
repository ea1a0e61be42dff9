"""Probes of joins: tables that nothing joins, and rows that a join repeats."""

import pytest

from answerkey.doubts.joins import find_cross_join, find_join_fan_out, find_join_repeats_rows
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
AT_VENUES = "FROM concert JOIN venue ON venue.id = concert.venue_id"

# Queries against their questions: (question, query, kind of the finding), and without one.
FANS = [
    ("How many singers have a song?", f"SELECT count(*) {SONGS}", "counted"),
    (
        "Which town has the most singers with songs?",
        f"SELECT town {SONGS} GROUP BY town ORDER BY count(*) DESC LIMIT 1",
        "counted",
    ),
    (
        "Which venues had at least three singers?",
        f"SELECT name {AT_VENUES} GROUP BY venue.id HAVING count(*) >= 3",
        "referred",
    ),
    ("Number of singers on stage", "SELECT count(*) FROM concert", "referred"),
]
NO_FANS = [
    ("Total fee by town", f"SELECT town, sum(fee) {SONGS} GROUP BY town"),  # no count
    ("How many singers sang in 2021?", "SELECT count(*) FROM concert WHERE year = 2021"),  # once
    ("How many singers have a song?", f"SELECT count(DISTINCT singer.id) {SONGS}"),
    ("Count the songs of each of the singers", f"SELECT count(*) {SONGS} GROUP BY singer.id"),
    (
        "How many venues has Cy Dunn joined?",
        "SELECT count(*) FROM singer JOIN membership ON singer_id = singer.id"
        " WHERE name = 'Cy Dunn'",
    ),
    ("How many singers wrote Tide?", f"SELECT count(*) {SONGS} WHERE title = 'Tide'"),  # one song
    ("How many singers have no prize?", f"SELECT singer.id, count(song.id) {SONGS} GROUP BY 1"),
    ("How many singers?", f"SELECT name, count(*) OVER (PARTITION BY singer.id) {SONGS}"),
]


@pytest.mark.parametrize(("text", "sql", "kind"), FANS)
def test_things_that_are_counted_more_than_once_are_found(choir, text, sql, kind):
    assert choir.ask(find_join_fan_out, text, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NO_FANS)
def test_things_that_are_counted_once_are_no_finding(choir, text, sql):
    assert choir.ask(find_join_fan_out, text, sql) is None


def test_evidence_of_a_count_shows_groups_that_repeat_a_thing(choir):
    evidence = {
        "kind": "counted",
        "asked": "the most singers",
        "repeated": "singer.id",
        "groups": [["Bath", 2, 3]],
    }
    assert evidence.items() <= choir.ask(find_join_fan_out, *FANS[1][:2]).evidence.items()


REPEATS = [
    (f"SELECT name {SONGS}", "listed"),
    (f"SELECT name {SONGS} WHERE fee > 0", "in_data"),
    (f"SELECT name {SONGS} WHERE fee > 0 ORDER BY name", "listed"),
    (f"SELECT name {SONGS} WHERE language = 'French'", "possible"),
    (
        "SELECT singer.name FROM singer JOIN membership AS m ON singer.id = m.singer_id"
        " JOIN venue ON venue.id = m.venue_id WHERE venue.name = 'Quay'",
        "linked",
    ),
    # Who sang at one of these sang at several, which is told once.
    (
        "SELECT singer.name FROM singer JOIN concert AS c ON singer.id = c.singer_id"
        " JOIN venue ON venue.id = c.venue_id WHERE venue.id IN (1, 2)",
        "in_data",
    ),
]
NO_REPEATS = [
    f"SELECT song.singer_id {SONGS} WHERE town = 'Bath'",  # the singer of each song
    f"SELECT DISTINCT name {SONGS}",
    f"SELECT name, title {SONGS}",
    f"SELECT title {SONGS} WHERE town = 'Bath'",  # a song has one singer
    f"SELECT name {SONGS} WHERE title = 'Tide'",  # the attribute of one thing
    f"SELECT name {SONGS} WHERE title IN ('Dawn', 'Dusk')",  # and of each of several
    f"SELECT name {SONGS} WHERE town = 'Bath' AND song.id = 4",
    f"SELECT name {SONGS} WHERE language = 'French' ORDER BY sales",  # one row a song is meant
    "SELECT name FROM singer LEFT JOIN song ON singer.id = song.singer_id WHERE song.id IS NULL",
]


@pytest.mark.parametrize(("sql", "kind"), REPEATS)
def test_rows_of_a_table_that_a_join_repeats_are_found(choir, sql, kind):
    assert choir.find(find_join_repeats_rows, sql).evidence["kind"] == kind


@pytest.mark.parametrize("sql", NO_REPEATS)
def test_rows_of_a_join_that_are_meant_are_no_finding(choir, sql):
    assert choir.find(find_join_repeats_rows, sql) is None


def test_evidence_of_repeated_rows_names_their_key(choir):
    evidence = {"kind": "listed", "key": "singer.id", "repeated": [[1, 2]]}
    assert choir.find(find_join_repeats_rows, REPEATS[0][0]).evidence == evidence


PORTS = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE ship (hull INTEGER PRIMARY KEY, name TEXT, home INTEGER REFERENCES port, crew INT);
CREATE TABLE visit (ship INTEGER REFERENCES ship, port INTEGER REFERENCES port);
CREATE TABLE repair (ship INTEGER REFERENCES ship, cost INTEGER);
CREATE VIEW visitor AS SELECT ship FROM visit;
"""

PRODUCTS = [
    "SELECT count(*) FROM ship AS T1 JOIN port AS T2 WHERE T1.crew > 8 OR T1.crew < 2",
    "SELECT 1 FROM ship T1 JOIN visit T2 ON T1.hull = T2.ship JOIN port T3 ON T2.ship = T2.ship",
    "SELECT count(*) FROM ship LEFT JOIN port ON 1 = 1",
    "SELECT count(*) FROM (SELECT hull FROM ship) AS a, (SELECT id FROM port) AS b",
    "WITH a AS (SELECT hull FROM ship) SELECT count(*) FROM a, port",
    "SELECT name FROM port UNION SELECT ship.name FROM ship, port",
    "SELECT count(*) FROM ship NATURAL JOIN repair",  # no name in common
    "SELECT count(*) FROM ship, port WHERE ship.home IN (SELECT id FROM port)",
    "SELECT count(*) FROM visitor, port",
]
JOINED = [
    "SELECT ship.name FROM ship, port WHERE ship.home = port.id",
    "SELECT ship.name FROM ship JOIN port ON (ship.crew > 1 AND (port.id = ship.home))",
    "SELECT 1 FROM visit JOIN repair USING (ship)",
    "SELECT 1 FROM visit NATURAL JOIN repair",
    "SELECT 1 FROM ship a, ship b WHERE a.crew > b.crew",
    "SELECT 1 FROM ship, port, visit WHERE ship.hull = visit.ship AND visit.port = port.id",
    "SELECT 1 FROM ship, port WHERE EXISTS (SELECT 1 FROM visit WHERE ship = hull AND port = id)",
    "SELECT 1 FROM ship CROSS JOIN port",
    "WITH m AS (SELECT max(crew) AS n FROM ship) SELECT name FROM ship, m WHERE n > 1",
    "SELECT a.crew - b.crew FROM ship a, ship b WHERE a.hull = 101 AND b.hull = 102",
    "SELECT 1 FROM ship a LEFT JOIN port b ON a.home = b.id OR a.name = b.name",
    "SELECT 1 FROM repair JOIN (visit JOIN port ON visit.port = port.id) USING (ship)",
    "SELECT (SELECT count(*) FROM ship) - (SELECT count(*) FROM port)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
]


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("ports"), PORTS) as world:
        yield world


@pytest.mark.parametrize("sql", PRODUCTS)
def test_tables_that_nothing_joins_are_found(ports, sql):
    assert ports.find(find_cross_join, sql) is not None


@pytest.mark.parametrize("sql", JOINED)
def test_tables_that_something_joins_are_no_finding(ports, sql):
    assert ports.find(find_cross_join, sql) is None


def test_evidence_of_a_product_names_its_sources(ports):
    finding = ports.find(find_cross_join, "SELECT 1 FROM ship AS s JOIN port AS p")
    assert finding.evidence["sources"] == ["s", "p"]


# Products of which each row is meant, or that no row is seen to come twice in.
MEANT = [
    "SELECT a.litres - b.litres FROM cow AS a, cow AS b WHERE a.name = 'Bea' AND b.name = 'Ada'",
    "SELECT count(DISTINCT cow.id) * 1.0 / count(DISTINCT farm.id) FROM cow, farm",
    "SELECT c.n * 1.0 / f.n FROM (SELECT count(*) AS n FROM cow) AS c,"
    " (SELECT count(*) AS n FROM farm) AS f",
    "SELECT a.name, a.litres - b.litres FROM cow AS a,"
    " (SELECT litres FROM cow ORDER BY litres DESC LIMIT 1) AS b",
]


@pytest.mark.parametrize("sql", MEANT)
def test_product_that_shows_no_row_twice_is_no_finding(farm, sql):
    assert farm.find(find_cross_join, sql) is None


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    (
        find_cross_join,
        None,
        "SELECT count(*) FROM cow, farm WHERE farm.name = 'Moss' OR farm.name = 'Sand'",
        [(2,)],
    ),
    (
        find_cross_join,
        None,
        "SELECT cow.name FROM fair AS f JOIN cow, farm WHERE f.medal = 'gold' AND town = 'Alda'",
        [("Ada",), ("Bea",)],
    ),
    (find_cross_join, None, "SELECT count(*) FROM cow, trip", None),
    (find_join_fan_out, "How many cows were at a fair?",
     "SELECT count(*) FROM cow AS c JOIN fair AS f ON f.cow_id = c.id", [(3,)]),
    # what a join repeats, counted once
    (find_join_fan_out, "How many cows have been to a fair?",
     "SELECT count(*) FROM cow JOIN fair ON fair.cow_id = cow.id", [(3,)]),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows


PARTIES = """
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO person VALUES (1, 'Ann'), (2, 'Bo');
CREATE TABLE party (
    id INTEGER PRIMARY KEY, host_id INT REFERENCES person (id), town TEXT,
    main_guest_id INT REFERENCES person (id)
);
INSERT INTO party VALUES (1, 1, 'Ulm', 2), (2, 1, 'Ulm', 2), (3, 2, 'Rye', 1);
"""


@pytest.fixture(scope="module")
def parties(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("parties"), PARTIES) as world:
        yield world


def test_column_has_the_name_of_what_is_counted_and_its_table_another(parties):
    sql = "SELECT town, count(*) FROM party GROUP BY town"
    text = "How many hosts are there in each town?"
    assert parties.ask(find_join_fan_out, text, sql).evidence["kind"] == "referred"
    assert parties.execute_repair(find_join_fan_out, sql, text) == [("Rye", 1), ("Ulm", 1)]


@pytest.mark.parametrize("noun", ["parties", "towns", "guests", "ids"])
def test_column_of_another_name_is_not_counted(parties, noun):
    text = f"How many {noun} are there in each town?"
    sql = "SELECT town, count(*) FROM party GROUP BY town"
    assert parties.ask(find_join_fan_out, text, sql) is None
