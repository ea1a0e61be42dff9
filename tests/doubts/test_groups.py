"""Probes of groups and of set operations: names taken for things, and groups that are missing."""

import pytest

from answerkey.doubts.groups import (
    find_group_by_non_key,
    find_set_operation_on_non_key,
)
from tests.shared.probe_world import ProbeWorld

A_SONGS = "FROM singer AS a JOIN song AS b ON a.id = b.singer_id"
A_CONCERTS = "FROM venue AS a JOIN concert AS b ON a.id = b.venue_id"
BY_VENUE = f"SELECT a.name, count(*) {A_CONCERTS} GROUP BY a.name"

# Queries against their questions.
GROUPS = [
    ("How many songs has each singer?", f"SELECT a.name, count(*) {A_SONGS} GROUP BY a.name"),
    (
        "How many singers have two songs?",
        f"SELECT count(*) FROM (SELECT a.name {A_SONGS} GROUP BY a.name HAVING count(*) = 2)",
    ),
    ("How many concerts were in each venue?", BY_VENUE),
]
NO_GROUPS = [
    ("Count the concerts for each venue name.", BY_VENUE),
    *(
        ("How many songs are there?", sql)
        for sql in (
            f"SELECT a.id, a.name, count(*) {A_SONGS} GROUP BY a.id, a.name",
            f"SELECT a.name, count(*) {A_SONGS} GROUP BY b.id, a.name",  # a song has one singer
            f"SELECT a.town, count(*) {A_SONGS} GROUP BY a.town",  # no name
            "SELECT name, count(*) FROM singer GROUP BY name",  # asks for the names themselves
            f"SELECT a.name {A_SONGS} GROUP BY a.name",  # as DISTINCT
        )
    ),
]


@pytest.mark.parametrize(("text", "sql"), GROUPS)
def test_groups_by_the_names_of_things_are_found(choir, text, sql):
    assert choir.ask(find_group_by_non_key, text, sql) is not None


@pytest.mark.parametrize(("text", "sql"), NO_GROUPS)
def test_groups_of_things_or_of_what_is_asked_for_are_no_finding(choir, text, sql):
    assert choir.ask(find_group_by_non_key, text, sql) is None


def test_evidence_of_a_group_names_the_key(choir):
    evidence = {"grouped_by": ["venue.name"], "key": "venue.id"}
    assert evidence.items() <= choir.ask(find_group_by_non_key, *GROUPS[-1]).evidence.items()


SHORES = """
CREATE TABLE airfield (id INTEGER PRIMARY KEY, city TEXT, country TEXT, size INT);
INSERT INTO airfield VALUES
    (1, 'Ayr', 'UK', 1), (2, 'Ayr', 'Australia', 2), (3, 'Oban', 'UK', 2), (4, 'Oban', 'UK', 3);
CREATE TABLE pier (id INTEGER PRIMARY KEY, city TEXT, country TEXT);
INSERT INTO pier VALUES (1, 'Ayr', 'UK'), (2, 'Oban', 'UK');
"""
CITIES = "SELECT city, count(*) FROM airfield {} GROUP BY city"
TEXT = "Which cities have how many airfields?"


@pytest.fixture(scope="module")
def shores(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("shores"), SHORES) as world:
        yield world


def test_towns_of_two_countries_are_no_one_town(shores):
    finding = shores.ask(find_group_by_non_key, TEXT, CITIES.format(""))
    assert (finding.evidence["kind"], finding.evidence["shared"]) == ("place", "Ayr")
    rows = shores.execute_repair(find_group_by_non_key, CITIES.format(""), TEXT)
    assert rows == [("Ayr", 1), ("Ayr", 1), ("Oban", 2)]


@pytest.mark.parametrize(
    "sql",
    [
        CITIES.format("WHERE country = 'UK'"),
        f"{CITIES.format('')}, country",
        "SELECT city, count(*) FROM pier GROUP BY city",  # no row has a town of that name elsewhere
        "SELECT country, count(*) FROM airfield GROUP BY country",
    ],
)
def test_towns_of_one_country_are_groups(shores, sql):
    assert shores.ask(find_group_by_non_key, TEXT, sql) is None


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


@pytest.mark.parametrize(("sql", "kind"), SETS)
def test_set_operation_on_names_is_found(choir, sql, kind):
    assert choir.find(find_set_operation_on_non_key, sql).evidence["kind"] == kind


@pytest.mark.parametrize("sql", NO_SETS)
def test_set_operation_on_keys_or_classes_is_no_finding(choir, sql):
    assert choir.find(find_set_operation_on_non_key, sql) is None


def test_evidence_of_a_set_operation_names_what_it_compares(choir):
    evidence = {
        "kind": "people",
        "operation": "EXCEPT",
        "columns": ["singer.name"],
        "key": "singer.id",
    }
    finding = choir.find(find_set_operation_on_non_key, SETS[0][0])
    assert evidence.items() <= finding.evidence.items()


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    (
        find_set_operation_on_non_key,
        None,
        "SELECT name FROM cow EXCEPT SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id"
        " ORDER BY name",
        [("Dot",)],
    ),
    (  # a thing of several rows comes once
        find_set_operation_on_non_key,
        None,
        "SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id EXCEPT"
        " SELECT c.name FROM cow AS c JOIN fair ON cow_id = c.id WHERE year = 2021",
        [("Ada",), ("Bea",)],
    ),
    # things, and not their names or their rows
    (find_group_by_non_key, "How many cows has each farm?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON f.id = c.farm_id"
     " GROUP BY f.name ORDER BY f.name", [("Moss", 2), ("Reed", 2)]),
    # by a key that the data alone show
    (find_group_by_non_key, "How many goats has each herd?",
     "SELECT h.name, count(*) FROM herd AS h JOIN goat AS g ON g.herd = h.no GROUP BY h.name",
     [("Up", 1), ("Up", 1), ("Low", 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows
