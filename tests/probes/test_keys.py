"""Probes that tell things from their names, and from their rows elsewhere: a join, a group, a set
operation or a denial is right for the one and not for the other."""

import pytest

from answerkey.probes.groups import find_group_by_non_key, find_set_operation_on_non_key
from answerkey.probes.joins import (
    find_cross_join,
    find_join_fan_out,
    find_join_repeats_rows,
    find_zero_count_dropped,
)
from answerkey.probes.negation import find_not_in_on_rows
from tests.shared.probe_world import ProbeWorld

# Some singers share a name, some have no song.
WORLD = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, first_name TEXT, town TEXT, fee INT);
INSERT INTO singer VALUES
  (1, 'Ana Bell', 'Ana', 'Bath', 10), (2, 'Ana Bell', 'Ana', 'York', 20),
  (3, 'Cy Dunn', 'Cy', 'Bath', 30), (4, 'Eve Finn', 'Eve', 'Bath', 40);
CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, title TEXT,
  language TEXT, sales INT);
INSERT INTO song VALUES (1, 1, 'Dawn', 'French', 5), (2, 1, 'Dusk', 'Welsh', 7),
  (3, 2, 'Noon', 'Welsh', 9), (4, 3, 'Tide', 'French', 4);
CREATE TABLE venue (id INTEGER PRIMARY KEY, name TEXT, seats INT);
INSERT INTO venue VALUES (1, 'Mill', 90), (2, 'Quay', 60), (3, 'Barn', 30);
CREATE TABLE concert (venue_id INT REFERENCES venue, singer_id INT REFERENCES singer, year INT);
INSERT INTO concert VALUES (1, 1, 2020), (1, 1, 2021), (1, 3, 2021), (2, 3, 2020);
CREATE TABLE membership (singer_id INT REFERENCES singer, venue_id INT REFERENCES venue,
  PRIMARY KEY (singer_id, venue_id));
INSERT INTO membership VALUES (1, 1), (1, 2), (3, 1);
"""

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
AT_VENUES = "FROM concert JOIN venue ON venue.id = concert.venue_id"
A_SONGS = "FROM singer AS a JOIN song AS b ON a.id = b.singer_id"
A_CONCERTS = "FROM venue AS a JOIN concert AS b ON a.id = b.venue_id"
EACH = f"SELECT singer.name, count(*) {SONGS} GROUP BY singer.id"

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
    (
        "How many singers sang in 2021?",
        "SELECT count(*) FROM concert WHERE year = 2021",
        "possible",
    ),
    ("Total fee by town", f"SELECT town, sum(fee) {SONGS} GROUP BY town", "added"),
]
NO_FANS = [
    ("Total fee of the songs", f"SELECT sum(fee) {SONGS}"),  # of each song
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

ZEROS = [
    ("How many songs has each singer?", EACH, "each"),
    ("Songs of each singer", f"SELECT singer_id, count(*) {SONGS} GROUP BY singer_id", "each"),
    (
        "How many songs has each singer from York?",
        f"SELECT singer.id, count(*) {SONGS} WHERE town = 'York' GROUP BY singer.id",
        "possible",
    ),
    (  # by what a joined table refers to
        "How many songs are there of the singers at all venues?",
        "SELECT venue_id, count(*) FROM concert JOIN song ON song.singer_id = concert.singer_id"
        " GROUP BY venue_id",
        "all",
    ),
    (
        "Which singers have at most one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) <= 1",
        "at_most",
    ),
    (
        "Which singer has the fewest songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) LIMIT 1",
        "fewest",
    ),
    (
        "Show all singer ids and the number of their songs.",
        "SELECT singer_id, count(*) FROM song GROUP BY singer_id",
        "all",
    ),
]
NO_ZEROS = [
    ("How many songs has each singer who has one?", EACH),
    ("Show singer names who have songs, and how many.", EACH),
    ("How many songs has each singer?", EACH.replace("JOIN song", "LEFT JOIN song")),
    ("How many songs are there of each artist?", EACH),  # names no table
    (
        "How many Welsh songs has each singer?",
        f"SELECT singer.id, count(*) {SONGS} WHERE language = 'Welsh' GROUP BY singer.id",
    ),
    (  # venues are not read, and nobody says all
        "How many songs are there of the singers at each venue?",
        "SELECT venue_id, count(*) FROM concert JOIN song ON song.singer_id = concert.singer_id"
        " GROUP BY venue_id",
    ),
    ("Songs of singers by town", f"SELECT town, count(*) {SONGS} GROUP BY town"),
    (
        "Which singers have more than one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) > 1",
    ),
    ("Songs of each singer", "SELECT singer_id, count(*) FROM song GROUP BY singer_id"),
]

GROUPS = [
    ("How many songs has each singer?", f"SELECT a.name, count(*) {A_SONGS} GROUP BY a.name"),
    (
        "How many singers have two songs?",
        f"SELECT count(*) FROM (SELECT a.name {A_SONGS} GROUP BY a.name HAVING count(*) = 2)",
    ),
]
NO_GROUPS = [
    f"SELECT a.id, a.name, count(*) {A_SONGS} GROUP BY a.id, a.name",
    f"SELECT a.name, count(*) {A_SONGS} GROUP BY b.id, a.name",  # a song has one singer
    f"SELECT a.town, count(*) {A_SONGS} GROUP BY a.town",  # no name
    "SELECT name, count(*) FROM singer GROUP BY name",  # asks for the names themselves
    f"SELECT a.name {A_SONGS} GROUP BY a.name",  # as DISTINCT
]

DENIALS = [
    f"SELECT name {SONGS} WHERE language <> 'French'",
    f"SELECT name {SONGS} WHERE language NOT IN ('French', 'Latin')",
    "SELECT singer_id FROM song WHERE language <> 'French'",  # of what a column refers to
    "SELECT count(DISTINCT singer_id) FROM song WHERE language <> 'French'",
]
NO_DENIALS = [
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song)",
    f"SELECT name {SONGS} WHERE town <> 'Bath'",  # of the singer himself
    f"SELECT title {SONGS} WHERE town <> 'Bath'",  # a song has one singer
    f"SELECT title {SONGS} WHERE language <> 'French'",  # songs are asked for
    f"SELECT name {SONGS} WHERE language <> 'French' AND town <> 'Bath'",  # which one is meant?
    "SELECT singer_id FROM song WHERE singer_id <> 2",
    f"SELECT count(*) {SONGS} WHERE language <> 'French'",
]

# Queries by themselves.
REPEATS = [
    (f"SELECT name {SONGS}", "in_data"),
    (f"SELECT name {SONGS} WHERE language = 'French'", "possible"),
    (f"SELECT name {SONGS} WHERE title = 'Tide'", "named"),
    (f"SELECT name {SONGS} WHERE town = 'Bath' AND song.id = 4", "named"),
    (
        "SELECT singer.name FROM singer JOIN membership AS m ON singer.id = m.singer_id"
        " JOIN venue ON venue.id = m.venue_id WHERE venue.name = 'Quay'",
        "linked",
    ),
    (f"SELECT song.singer_id {SONGS} WHERE town = 'Bath'", "referred"),
]
NO_REPEATS = [
    f"SELECT DISTINCT name {SONGS}",
    f"SELECT name, title {SONGS}",
    f"SELECT title {SONGS} WHERE town = 'Bath'",  # a song has one singer
    f"SELECT name {SONGS} WHERE language = 'French' ORDER BY sales",  # one row a song is meant
    "SELECT name FROM singer LEFT JOIN song ON singer.id = song.singer_id WHERE song.id IS NULL",
]

SETS = [
    (f"SELECT name FROM singer EXCEPT SELECT a.name {A_SONGS}", "people"),
    (f"SELECT first_name FROM singer EXCEPT SELECT a.first_name {A_SONGS}", "part_of_name"),
    (f"SELECT name FROM venue EXCEPT SELECT a.name {A_CONCERTS}", "others"),
    (
        f"SELECT a.name {A_SONGS} WHERE sales < 5"
        f" INTERSECT SELECT a.name {A_SONGS} WHERE sales = 4",
        "others",
    ),
    (f"SELECT count(*) FROM (SELECT name FROM venue EXCEPT SELECT a.name {A_CONCERTS})", "others"),
]
NO_SETS = [
    f"SELECT id, name FROM singer EXCEPT SELECT a.id, a.name {A_SONGS}",
    f"SELECT town FROM singer EXCEPT SELECT a.town {A_SONGS}",  # towns are asked for
    "SELECT name FROM singer INTERSECT SELECT name FROM venue",  # things of two tables
    "SELECT name FROM singer WHERE town = 'Bath' EXCEPT SELECT name FROM singer WHERE fee > 10",
]

DENIED = "Which singers have no French song?"
ASKED = {
    find_join_fan_out: FANS,
    find_zero_count_dropped: ZEROS,
    find_group_by_non_key: [
        *((text, sql, None) for text, sql in GROUPS),
        (
            "How many concerts were in each venue?",
            f"SELECT a.name, count(*) {A_CONCERTS} GROUP BY a.name",
            None,
        ),
    ],
    find_not_in_on_rows: [(DENIED, sql, None) for sql in DENIALS],
}
NOT_ASKED = {
    find_join_fan_out: NO_FANS,
    find_zero_count_dropped: NO_ZEROS,
    find_group_by_non_key: [
        *(("How many songs are there?", sql) for sql in NO_GROUPS),
        (
            "Count the concerts for each venue name.",
            f"SELECT a.name, count(*) {A_CONCERTS} GROUP BY a.name",
        ),
    ],
    find_not_in_on_rows: [
        *((DENIED, sql) for sql in NO_DENIALS),
        ("Which singers have a song in another language than French?", DENIALS[0]),
    ],
}
FOUND = {find_join_repeats_rows: REPEATS, find_set_operation_on_non_key: SETS}
NOT_FOUND = {find_join_repeats_rows: NO_REPEATS, find_set_operation_on_non_key: NO_SETS}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("choir"), WORLD) as world:
        yield world


def list_cases(table):
    return [(probe, case) for probe, cases in table.items() for case in cases]


@pytest.mark.parametrize(("probe", "case"), list_cases(ASKED))
def test_query_that_is_not_what_the_question_asks_is_found(world, probe, case):
    text, sql, kind = case
    assert world.ask(probe, text, sql).evidence.get("kind") == kind


@pytest.mark.parametrize(("probe", "case"), list_cases(NOT_ASKED))
def test_query_that_the_question_may_mean_is_no_finding(world, probe, case):
    assert world.ask(probe, *case) is None


@pytest.mark.parametrize(("probe", "case"), list_cases(FOUND))
def test_query_that_takes_names_or_rows_for_things_is_found(world, probe, case):
    sql, kind = case
    assert world.find(probe, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("probe", "sql"), list_cases(NOT_FOUND))
def test_query_of_keys_or_classes_is_no_finding(world, probe, sql):
    assert world.find(probe, sql) is None


EVIDENCE = [
    (
        find_join_fan_out,
        FANS[1][:2],
        {
            "kind": "counted",
            "asked": "the most singers",
            "repeated": "singer.id",
            "groups": [["Bath", 2, 3]],
        },
    ),
    (
        find_zero_count_dropped,
        ZEROS[0][:2],
        {"kind": "each", "asked": "singer", "things": "singer.id", "dropped": [4]},
    ),
    (
        find_group_by_non_key,
        ASKED[find_group_by_non_key][-1][:2],
        {"grouped_by": ["venue.name"], "key": "venue.id"},
    ),
    (find_not_in_on_rows, (DENIED, DENIALS[0]), {"asked": "no", "denied": "language <> 'French'"}),
    (
        find_join_repeats_rows,
        REPEATS[0][:1],
        {"kind": "in_data", "key": "singer.id", "repeated": [[1, 2]]},
    ),
    (
        find_set_operation_on_non_key,
        SETS[0][:1],
        {"kind": "people", "operation": "EXCEPT", "columns": ["singer.name"], "key": "singer.id"},
    ),
]


@pytest.mark.parametrize(("probe", "case", "evidence"), EVIDENCE)
def test_evidence_shows_what_the_query_makes_of_things(world, probe, case, evidence):
    finding = world.ask(probe, *case) if len(case) == 2 else world.find(probe, *case)
    assert evidence.items() <= finding.evidence.items()  # and, of some, a repair


HARBOUR = """
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
def harbour(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("harbour"), HARBOUR) as world:
        yield world


@pytest.mark.parametrize("sql", PRODUCTS)
def test_tables_that_nothing_joins_are_found(harbour, sql):
    assert harbour.find(find_cross_join, sql) is not None


@pytest.mark.parametrize("sql", JOINED)
def test_tables_that_something_joins_are_no_finding(harbour, sql):
    assert harbour.find(find_cross_join, sql) is None


def test_evidence_of_a_product_names_its_sources(harbour):
    finding = harbour.find(find_cross_join, "SELECT 1 FROM ship AS s JOIN port AS p")
    assert finding.evidence["sources"] == ["s", "p"]
