"""Equal values that a question does not want."""

import pytest

from answerkey.probes.projection import find_distinct_missing
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE baker (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
INSERT INTO baker VALUES (1, 'Ann', 'Ulm'), (2, 'Bo', 'Rye'), (3, 'Ann', 'Rye');
CREATE TABLE cake (
    id INTEGER PRIMARY KEY, baker_id INT REFERENCES baker (id), title TEXT, taste TEXT);
INSERT INTO cake VALUES
    (1, 1, 'Sun', 'plum'), (2, 1, 'Moon', 'nut'), (3, 2, 'Sun', 'nut'), (4, 3, 'Star', 'nut');
"""

MISSING = [
    ("count", "How many different towns have bakers?", "SELECT count(town) FROM baker"),
    ("counts_rows", "Find the number of tastes.", "SELECT count(*) FROM cake"),
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
