"""Readings of a question: other queries that it may as well mean, rule by rule."""

import contextlib
import sqlite3

import pytest

from answerkey.alternatives.readings import list_readings
from answerkey.sql.query_tree import parse_sql
from answerkey.sqlite.schema import read_schema

HARBOUR = """
CREATE TABLE port (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, land TEXT NOT NULL
);
CREATE TABLE label (name TEXT);
CREATE TABLE ship (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, tons INT, code TEXT,
  port_id INT NOT NULL REFERENCES port (id)
);
INSERT INTO port VALUES (1, 'Ayr', 'UK'), (2, 'Ayr', 'AU'), (3, 'Oban', 'UK');
INSERT INTO ship VALUES (1, 'Sun', 5, 'a', 1), (2, 'Sun', 5, 'b', 2), (3, 'Tern', 1, 'a', 1);
"""
JOINED = "ship AS s JOIN port AS p ON s.port_id = p.id"


def find_nothing(sql, max_steps):
    return []


def read_with(database):
    return lambda sql, max_steps: database.execute(sql).fetchall()


@pytest.fixture(scope="module")
def database():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(HARBOUR)
        yield connection


CASES = [
    # duplicates
    ("What are the names of ships?", "SELECT name FROM ship", {"distinct_rows"}),
    ("What are the different names?", "SELECT name FROM ship", {"distinct_rows"}),
    ("What is the name of each ship?", "SELECT name FROM ship", set()),
    ("Which names do ships have?", "SELECT DISTINCT name FROM ship", {"without_distinct"}),
    ("What are the ids and names?", "SELECT id, name FROM ship", set()),
    ("How many codes are there?", "SELECT count(code) FROM ship", {"distinct_values"}),
    ("How many codes are there?", "SELECT count(DISTINCT code) FROM ship", {"without_distinct"}),
    ("How many ships are there?", "SELECT count(*) FROM ship", set()),
    (
        "Which ports have ships? Give names.",
        f"SELECT DISTINCT p.name FROM {JOINED}",
        {"without_distinct", "each_thing_once"},
    ),
    # groups
    (
        "How many tons are in each port?",
        f"SELECT p.name, sum(s.tons) FROM {JOINED} GROUP BY p.name",
        {"grouped_by_key"},
    ),
    (
        "How many tons are in each port?",
        f"SELECT p.name, sum(s.tons) FROM {JOINED} GROUP BY s.port_id",
        {"grouped_by_name"},
    ),
    (
        "How many tons are in each land?",
        f"SELECT p.land, sum(s.tons) FROM {JOINED} GROUP BY p.land",
        set(),
    ),
    # superlatives
    ("Which ship is the heaviest?", "SELECT id FROM ship ORDER BY tons DESC LIMIT 1", {"all_ties"}),
    (
        "Which code do most ships have?",
        "SELECT code FROM ship GROUP BY code ORDER BY count(*) DESC LIMIT 1",
        {"all_ties", "without_null"},
    ),
    ("Which ship is the heaviest?", "SELECT id, max(tons) FROM ship", {"all_ties"}),
    (
        "Which ship is the heaviest?",
        "SELECT id FROM ship WHERE tons = (SELECT max(tons) FROM ship)",
        {"one_row"},
    ),
    # zeros
    (
        "How many ships has each port?",
        f"SELECT p.id, count(*) FROM {JOINED} GROUP BY p.id",
        {"with_zero_counts"},
    ),
    (
        "How many ships has each port?",
        "SELECT p.id, count(s.id) FROM port p LEFT JOIN ship s ON s.port_id = p.id GROUP BY p.id",
        {"without_zero_counts"},
    ),
    (
        "Which port has the most ships?",
        f"SELECT p.id FROM {JOINED} GROUP BY p.id ORDER BY count(*) DESC LIMIT 2",
        set(),
    ),
    (
        "How many ships of each code are in a port?",
        f"SELECT s.code, count(*) FROM {JOINED} GROUP BY s.code",
        {"without_null"},
    ),
    # NULL
    (
        "Which codes do two ships have?",
        "SELECT code FROM ship GROUP BY code HAVING count(*) = 2",
        {"without_null"},
    ),
    ("Which ids have not code a?", "SELECT id FROM ship WHERE code <> 'a'", set()),
    ("Which ids have other codes?", "SELECT id FROM ship WHERE code <> 'a'", {"unnamed_condition"}),
    # texts
    (
        "Which ids have 'un' in their names?",
        "SELECT id FROM ship WHERE name LIKE 'un'",
        {"contained_text"},
    ),
    ("Which ids contain 'a'?", "SELECT id FROM ship WHERE code = 'a'", {"contained_text"}),
    ("Which ids have code a?", "SELECT id FROM ship WHERE code = 'a'", set()),
    ("Which id is the TERN?", "SELECT id FROM ship WHERE name = 'Tern'", {"question_spelling"}),
    ("Which ids have tern ships?", "SELECT id FROM ship WHERE name = 'tern'", {"contained_text"}),
    ("Which id is of terning?", "SELECT id FROM ship WHERE name = 'Tern'", {"question_spelling"}),
    ("Which id is of Terns?", "SELECT id FROM ship WHERE name = 'Tern'", set()),
    # set operations
    (
        "Which ports have no ship? Give names.",
        f"SELECT name FROM port EXCEPT SELECT p.name FROM {JOINED}",
        {"members_by_key"},
    ),
    (
        "Which lands have no ship?",
        f"SELECT land FROM port EXCEPT SELECT p.land FROM {JOINED}",
        set(),
    ),
]


# Tried of most queries: the answers on the real database say whether they are readings.
TRIED_OFTEN = {"any_case", "average", "one_value", "summed_value"}


def read(database, question_text, gold, find_rows=find_nothing):
    return list_readings(parse_sql(gold), read_schema(database), question_text, find_rows)


@pytest.mark.parametrize(("question_text", "gold", "names"), CASES)
def test_question_has_the_readings_that_are_listed_by_hand(database, question_text, gold, names):
    tree = parse_sql(gold)
    before = repr(tree)
    readings = list_readings(tree, read_schema(database), question_text, find_nothing)
    assert repr(tree) == before
    assert {reading.name for reading in readings} - TRIED_OFTEN == names
    for reading in readings:
        database.execute(reading.sql).fetchall()


ANSWERS = [
    ("SELECT id FROM ship ORDER BY tons DESC LIMIT 1", "all_ties", [(1,), (2,)]),
    ("SELECT id, max(tons) FROM ship", "all_ties", [(1, 5), (2, 5)]),
    (
        "SELECT code, count(*) AS n FROM ship GROUP BY code ORDER BY n DESC LIMIT 1",
        "all_ties",
        [("a", 2)],
    ),
    (f"SELECT p.name, count(*) FROM {JOINED} GROUP BY s.port_id", "grouped_by_name", [("Ayr", 3)]),
    (
        f"SELECT p.id, count(*) FROM {JOINED} GROUP BY s.port_id",
        "with_zero_counts",
        [(1, 2), (2, 1), (3, 0)],
    ),
    (
        f"SELECT p.id FROM {JOINED} GROUP BY p.id HAVING count(*) < 2",
        "with_zero_counts",
        [(2,), (3,)],
    ),
    (
        "SELECT name FROM port EXCEPT SELECT p.name FROM port p JOIN ship s ON s.port_id = p.id"
        " WHERE s.code = 'b'",
        "members_by_key",
        [("Ayr",), ("Oban",)],
    ),
    (f"SELECT DISTINCT p.name FROM {JOINED}", "each_thing_once", [("Ayr",), ("Ayr",)]),
    ("SELECT code, count(*) FROM ship GROUP BY code", "without_null", [("a", 2), ("b", 1)]),
    ("SELECT sum(tons) FROM ship WHERE id = 1", "one_value", [(5,)]),
    ("SELECT name, max(tons) FROM ship WHERE id = 3 GROUP BY name", "one_value", [("Tern", 1)]),
    ("SELECT tons FROM ship WHERE code = 'a'", "summed_value", [(6,)]),
    ("SELECT CAST(sum(tons) AS REAL) / count(id) FROM ship", "average", [(11 / 3,)]),
    ("SELECT avg(tons) FROM ship", "average", [(11 / 3,)]),
    ("SELECT id FROM ship WHERE code LIKE 'A'", "any_case", []),
    (
        "SELECT name FROM port WHERE id = (SELECT port_id FROM ship ORDER BY tons DESC LIMIT 1)",
        "all_ties",
        [("Ayr",), ("Ayr",)],
    ),
    ("SELECT id FROM ship WHERE code = 'b' AND tons > 0", "unnamed_condition", None),
]


@pytest.mark.parametrize(("gold", "name", "rows"), ANSWERS)
def test_reading_answers_what_it_says(database, gold, name, rows):
    readings = read(database, "How many ports have one?", gold)
    found = [reading.sql for reading in readings if reading.name == name]
    if rows is None:  # more than one, and none of them gold's
        assert found
    else:
        assert len(found) == 1
        assert database.execute(found[0]).fetchall() == rows


@pytest.mark.parametrize(("question_text", "count"), [("Which ids?", 1), ("Which at a port?", 0)])
def test_join_that_the_question_does_not_name_may_be_left_out(database, question_text, count):
    readings = read(database, question_text, f"SELECT s.id FROM {JOINED}")
    assert sum(reading.name == "unnamed_join" for reading in readings) == count


CODES = [
    ("Which ships lie in Oban? Oban refers to port_id = 3", "p.name = 'Oban'", ["stated_code"]),
    ("Which ships lie in Oban? Oban refers to port.id = 3", "p.name = 'Oban'", ["stated_code"]),
    ("Which 3 ships lie in Oban?", "p.name = 'Oban'", []),  # a code learnt by heart
    ("Which ships lie in Ayr? It refers to port_id = 1", "p.name = 'Ayr'", []),  # of two ports
    ("Which ships lie in Oban?", "s.port_id = 3", ["stated_name"]),
    ("Which ships lie there?", "s.port_id = 3", []),
]


@pytest.mark.parametrize(("question_text", "condition", "names"), CODES)
def test_code_is_as_good_as_its_name_if_the_question_states_it(
    database, question_text, condition, names
):
    gold = f"SELECT s.id FROM {JOINED} WHERE {condition}"
    found = read(database, question_text, gold, read_with(database))
    assert [one.name for one in found if one.name.startswith("stated")] == names


NAMED = [
    (
        "Which is the lightest tern?",
        "SELECT id FROM ship ORDER BY tons LIMIT 1",
        ["LIMIT 1", "tons = (SELECT MIN(tons)"],  # with all ties, too
    ),
    ("Which is the lightest ship?", "SELECT id FROM ship ORDER BY tons LIMIT 1", []),
    ("Which terns are Terns?", "SELECT id FROM ship WHERE name = 'Tern'", []),
]


@pytest.mark.parametrize(("question_text", "gold", "conditions"), NAMED)
def test_word_of_the_question_is_a_value_that_gold_does_not_name(
    database, question_text, gold, conditions
):
    readings = read(database, question_text, gold, read_with(database))
    found = [reading.sql for reading in readings if reading.name == "named_value"]
    assert len(found) == len(conditions)
    assert all("\"name\" = 'Tern'" in sql for sql in found)
    assert all(any(condition in sql for sql in found) for condition in conditions)
