"""Columns that a query sorts by or compares, against those that its question names."""

import pytest

from answerkey.audit.question_probes.column_mismatch import find_column_mismatch
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE pilot (id INTEGER PRIMARY KEY, name TEXT, age INT, height INT, pay INT, licence TEXT);
INSERT INTO pilot VALUES (1, 'Ann', 30, 170, 5, 'A'), (2, 'Bo', 40, 180, 6, 'B');
CREATE TABLE flight (
    id INTEGER PRIMARY KEY, pilot_id INT REFERENCES pilot (id), miles INT, bed_count INT,
    bath_count INT);
INSERT INTO flight VALUES (1, 1, 500, 9, 1), (2, 2, 900, 8, 2);
"""

FIRE = [
    ("other_column", "List pilots in order of age.", "SELECT name FROM pilot ORDER BY height"),
    ("other_column", "What is the average age of pilots?", "SELECT avg(height) FROM pilot"),
    ("other_column", "Who has a height above 175?", "SELECT name FROM pilot WHERE age > 175"),
    (
        "other_column",
        "Who is the pilot of the highest age?",
        "SELECT p.name FROM pilot p JOIN flight f ON p.id = f.pilot_id ORDER BY f.miles LIMIT 1",
    ),
    (
        "similar_column",
        "What is the average number of beds on flights?",
        "SELECT avg(bath_count) FROM flight",
    ),
    (
        "order_column",
        "Show name and age of pilots, sorted by their age.",
        "SELECT name, age FROM pilot ORDER BY name",
    ),
    ("key_measured", "What are the total distances?", "SELECT sum(pilot_id) FROM flight"),
]

HOLD = [
    ("Sort pilots by age.", "SELECT name FROM pilot ORDER BY age DESC, name"),
    (
        "Show pilots in order of age.",
        "SELECT name FROM pilot p JOIN flight f ON p.id = f.pilot_id ORDER BY p.age, f.miles",
    ),
    ("What is the sum of pilot ids?", "SELECT sum(pilot_id) FROM flight"),
    ("At what age did pilots fly in 2023?", "SELECT name FROM pilot WHERE pay > 2023"),
    ("List the names of pilots in order of age.", "SELECT name FROM pilot ORDER BY age"),
    ("Who is the tallest pilot of age 30?", "SELECT name FROM pilot ORDER BY height LIMIT 1"),
    ("What does the oldest pilot earn?", "SELECT pay FROM pilot ORDER BY age DESC LIMIT 1"),
    ("Who has licence A and earns most?", "SELECT name FROM pilot ORDER BY pay LIMIT 1"),
    ("Which age group is the tallest?", "SELECT name FROM pilot ORDER BY height LIMIT 1"),
    ("Who has the licence 'A'?", "SELECT name FROM pilot WHERE licence = 'A'"),
    ("Who is of age?", "SELECT * FROM pilot ORDER BY height"),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("column"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("kind", "text", "sql"), FIRE)
def test_another_column_than_named_is_found(world, kind, text, sql):
    found = world.ask(find_column_mismatch, text, sql)
    assert found is not None
    assert found.evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), HOLD)
def test_column_that_is_named_is_left_alone(world, text, sql):
    assert world.ask(find_column_mismatch, text, sql) is None


def test_evidence_names_both_columns(world):
    sql = "SELECT name FROM pilot ORDER BY height"
    found = world.ask(find_column_mismatch, "Sort the names of pilots by age.", sql)
    assert found.evidence == {
        "kind": "other_column",
        "asked": "age",
        "column": "pilot.age",
        "used": "pilot.height",
    }
