"""Equal values that a question does not want, and different things that DISTINCT makes one."""

import pytest

from answerkey.probes.distinct import find_distinct_extra, find_distinct_missing
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE baker (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
INSERT INTO baker VALUES (1, 'Ann', 'Ulm'), (2, 'Bo', 'Rye'), (3, 'Ann', 'Rye');
CREATE TABLE stall (name TEXT PRIMARY KEY);
INSERT INTO stall VALUES ('East'), ('West');
CREATE TABLE helper (id INTEGER PRIMARY KEY, stall_name TEXT REFERENCES stall (name));
INSERT INTO helper VALUES (1, 'East'), (2, 'East'), (3, 'West');
CREATE TABLE cake (
    id INTEGER PRIMARY KEY, baker_id INT REFERENCES baker (id), title TEXT, taste TEXT);
INSERT INTO cake VALUES
    (1, 1, 'Sun', 'plum'), (2, 1, 'Moon', 'nut'), (3, 2, 'Sun', 'nut'), (4, 3, 'Star', 'nut');
"""

MISSING = [
    ("count", "How many different towns have bakers?", "SELECT count(town) FROM baker"),
    ("counts_rows", "Find the number of tastes.", "SELECT count(*) FROM cake"),
    ("asked", "List the distinct towns of bakers.", "SELECT town FROM baker"),
    ("repeated_id", "What are the ids of bakers with cakes?", "SELECT baker_id FROM cake"),
]

NOT_MISSING = [
    ("How many different towns have bakers?", "SELECT count(DISTINCT town) FROM baker"),
    ("How many different bakers are there?", "SELECT count(id) FROM baker"),
    ("List the distinct towns of bakers.", "SELECT DISTINCT town FROM baker"),
    ("Which towns are different from Ulm?", "SELECT town FROM baker WHERE town <> 'Ulm'"),
    ("List the towns of bakers.", "SELECT town FROM baker"),
    ("Find the number of bakers.", "SELECT count(*) FROM baker"),
    ("Find the number of cakes of each taste.", "SELECT taste, count(*) FROM cake GROUP BY 1"),
    (
        "Who bakes nut cakes?",  # two bakers of one name
        "SELECT b.name FROM baker b JOIN cake c ON b.id = c.baker_id WHERE c.id IN (1, 4)",
    ),
    (
        "Show the name of the baker of each cake.",
        "SELECT b.name, c.title FROM baker b JOIN cake c ON b.id = c.baker_id",
    ),
]

EXTRA = [
    ("counted_names", "How many bakers are there?", "SELECT count(DISTINCT name) FROM baker"),
    (
        "counted_names",
        "How many cakes do bakers from Rye and Ulm make?",
        "SELECT count(DISTINCT c.title) FROM cake c JOIN baker b ON b.id = c.baker_id",
    ),
    ("merged_names", "List the names of all bakers.", "SELECT DISTINCT name FROM baker"),
]

NOT_EXTRA = [
    ("How many different names do bakers have?", "SELECT count(DISTINCT name) FROM baker"),
    ("How many bakers have cakes?", "SELECT count(DISTINCT baker_id) FROM cake"),
    ("How many stalls have helpers?", "SELECT count(DISTINCT stall_name) FROM helper"),
    ("How many towns have bakers?", "SELECT count(DISTINCT town) FROM baker"),
    (
        "How many bakers live in Rye?",
        "SELECT count(DISTINCT name) FROM baker WHERE town = 'Rye'",
    ),
    (
        "List the names of bakers of nut cakes in Rye.",
        "SELECT DISTINCT b.name FROM baker b JOIN cake c ON b.id = c.baker_id WHERE town = 'Rye'",
    ),
    ("List the towns of all bakers.", "SELECT DISTINCT town FROM baker"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("distinct"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("kind", "text", "sql"), MISSING)
def test_missing_distinct_is_found(world, kind, text, sql):
    found = world.ask(find_distinct_missing, text, sql)
    assert found is not None
    assert found.evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NOT_MISSING)
def test_values_that_may_be_equal_are_left_alone(world, text, sql):
    assert world.ask(find_distinct_missing, text, sql) is None


@pytest.mark.parametrize(("kind", "text", "sql"), EXTRA)
def test_distinct_that_merges_things_is_found(world, kind, text, sql):
    found = world.ask(find_distinct_extra, text, sql)
    assert found is not None
    assert found.evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NOT_EXTRA)
def test_distinct_that_is_asked_for_or_merges_nothing_is_left_alone(world, text, sql):
    assert world.ask(find_distinct_extra, text, sql) is None


def test_evidence_counts_names_and_things(world):
    sql = "SELECT count(DISTINCT name) FROM baker"
    found = world.ask(find_distinct_extra, "How many bakers are there?", sql)
    assert found.evidence == {"kind": "counted_names", "names": 2, "things": 3}
