"""Readings of a question: other queries that it may as well mean, rule by rule."""

import contextlib
import sqlite3

import pytest

from answerkey.alternatives.readings import list_readings
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.query_tree import parse_sql

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
    # under LIMIT, other rows come as soon as equal ones are one
    (
        "Which two codes have the heaviest ships?",
        "SELECT DISTINCT code FROM ship ORDER BY tons DESC LIMIT 2",
        set(),
    ),
    (
        "Which code has the heaviest ship?",
        "SELECT DISTINCT code FROM ship ORDER BY tons DESC LIMIT 1",
        {"all_ties", "without_distinct"},
    ),
    # counts of names, of keys, and of what the evidence says
    ("How many ships have a code?", "SELECT count(id) FROM ship", set()),
    ("How many labels are there?", "SELECT count(*) FROM label", {"counted_names"}),
    (
        "How many ports have ships?",
        f"SELECT count(DISTINCT p.name) FROM {JOINED}",
        {"each_thing_once", "without_distinct"},
    ),
    (
        "How many ports have ships?",
        f"SELECT count(p.id) FROM {JOINED}",
        {"distinct_values"},
    ),
    (
        "How many ships are there? ships refers to COUNT(DISTINCT ship.name)",
        "SELECT count(*) FROM ship",
        {"stated_count"},
    ),
    ("How many ships? ships refers to COUNT(crew)", "SELECT count(*) FROM ship", set()),
    # by what to sort
    (
        "What tons has the ship with the best code? best refers to MAX(code)",
        "SELECT tons FROM ship ORDER BY tons DESC LIMIT 1",
        {"all_ties", "stated_order"},
    ),
    (
        "What tons has the heaviest ship? heaviest refers to MAX(tons)",
        "SELECT tons FROM ship ORDER BY tons DESC LIMIT 1",
        {"all_ties"},
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
    ("Which id is the TERN?", "SELECT id FROM ship WHERE name = 'Tern'", {"absent_spelling"}),
    ("Which ids have tern ships?", "SELECT id FROM ship WHERE name = 'tern'", {"contained_text"}),
    ("Which id is of terning?", "SELECT id FROM ship WHERE name = 'Tern'", {"absent_spelling"}),
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
    queries = [reading.sql for reading in readings if reading.name == name]
    if rows is None:  # more than one, and none of them gold's
        assert queries
    else:
        assert len(queries) == 1
        assert database.execute(queries[0]).fetchall() == rows


@pytest.mark.parametrize(
    ("operation", "code"), [("INTERSECT", "a"), ("EXCEPT", "b"), ("EXCEPT", "c")]
)
def test_members_whose_table_is_joined_are_read_once_or_as_often_as_they_are(
    database, operation, code
):
    """Gold has no row twice, and the reading has its rows only where it has none twice, either."""
    gold = f"SELECT p.name FROM {JOINED} WHERE s.tons > 0 AND p.id < 2 {operation}"
    gold += f" SELECT p.name FROM {JOINED} WHERE s.code = '{code}'"
    readings = read(database, "Which ports?", gold)
    queries = [reading.sql for reading in readings if reading.name == "members_by_key"]
    rows = [database.execute(sql).fetchall() for sql in queries]
    assert sorted(rows) == [[("Ayr",)], [("Ayr",), ("Ayr",)]]


TABLES = [
    # a table that nothing needs
    ("Which ids?", f"SELECT s.id FROM {JOINED}", "FROM ship AS s"),
    ("Which at a port?", f"SELECT s.id FROM {JOINED}", None),
    # one that gives a column which another one has, too
    ("Which ids?", f"SELECT p.id FROM {JOINED}", 'SELECT "s"."port_id" FROM'),
    # the rows that are counted stay
    ("Which ids?", f"SELECT count(*) FROM {JOINED}", "FROM ship AS s"),
    # a name that no other table has
    ("Which ids?", f"SELECT p.name FROM {JOINED}", None),
]


@pytest.mark.parametrize(("question_text", "gold", "part"), TABLES)
def test_join_of_which_the_answer_needs_nothing_may_be_left_out(
    database, question_text, gold, part
):
    readings = read(database, question_text, gold, read_with(database))
    queries = [reading.sql for reading in readings if "JOIN" not in reading.sql]
    assert [part in sql for sql in queries] == [True] * (part is not None)


@pytest.mark.parametrize(("ship", "is_reading"), [("1", False), ("NULL", True), ("9", True)])
def test_row_that_refers_to_another_needs_no_look_at_it(database, ship, is_reading):
    database.executescript(
        f"""CREATE TABLE crew (name TEXT, ship_id INT REFERENCES ship);
        INSERT INTO crew VALUES ('Ann', 1), ('Bo', {ship});"""
    )
    gold = "SELECT c.name FROM crew c JOIN ship s ON s.id = c.ship_id"
    readings = read(database, "Who is on a ship?", gold, read_with(database))
    database.execute("DROP TABLE crew")
    unjoined = [reading for reading in readings if "JOIN" not in reading.sql]
    assert [reading.name for reading in unjoined] == ["unneeded_join"] * is_reading
    assert all('NOT "c"."ship_id" IS NULL' in reading.sql for reading in unjoined)


EXTREMES = [
    ("ORDER BY s.tons DESC LIMIT 1", 1),  # a ship may lie in no port
    ("WHERE s.code = 'a' ORDER BY s.tons DESC LIMIT 1", 1),
    ("WHERE p.land = 'UK' ORDER BY s.tons DESC LIMIT 1", 0),  # of the UK, not of all
    ("ORDER BY p.land DESC LIMIT 1", 0),  # of the ports with ships
]


@pytest.mark.parametrize(("clauses", "count"), EXTREMES)
def test_extreme_may_be_that_of_all_rows_of_its_table(database, clauses, count):
    readings = read(database, "Which?", f"SELECT p.name FROM {JOINED} {clauses}")
    queries = [reading.sql for reading in readings if reading.name == "extreme_of_all"]
    assert len(queries) == count
    assert all("(SELECT MAX(s.tons) FROM ship AS s" in sql for sql in queries)


SPELLED = [
    ("Which id is of the tern?", "name LIKE 'tern'", ("stored_spelling", "name = 'Tern'")),
    ("Which id is of the TERN?", "name = 'Tern'", ("absent_spelling", "name LIKE 'TERN'")),
    ("Which id is of the Tern?", "name LIKE 'tern'", ("question_spelling", "name = 'Tern'")),
    ("Which id is of the tern?", "name LIKE 'tern%'", ("stored_spelling", None)),
]


@pytest.mark.parametrize(("question_text", "condition", "expected"), SPELLED)
def test_like_without_a_wildcard_is_as_good_as_the_spelling_that_one_knows(
    database, question_text, condition, expected
):
    name, part = expected
    gold = f"SELECT id FROM ship WHERE {condition}"
    readings = read(database, question_text, gold, read_with(database))
    texts = [reading.sql.partition("WHERE ")[2] for reading in readings if reading.name == name]
    assert part in texts if part is not None else texts == []


AMOUNTS = [
    ("What is the weight of ship 1?", "SELECT avg(tons) FROM ship WHERE id = 1", 1),
    ("What is the average of ship 1?", "SELECT avg(tons) FROM ship WHERE id = 1", 0),
    ("What is the total of ship 1?", "SELECT sum(tons) FROM ship WHERE id = 1", 0),
    ("What is the largest of ship 1?", "SELECT max(tons) FROM ship WHERE id = 1", 0),
    ("Which has most?", "SELECT name FROM ship GROUP BY name ORDER BY sum(tons) DESC LIMIT 1", 1),
    ("Which?", "SELECT sum(CASE WHEN id = 1 THEN tons ELSE 0 END) FROM ship", 1),
    ("Which?", "SELECT sum(CASE WHEN id = 1 THEN 1 ELSE 0 END) FROM ship", 0),
]


@pytest.mark.parametrize(("question_text", "gold", "count"), AMOUNTS)
def test_aggregate_of_one_row_is_its_value_unless_the_question_says_more(
    database, question_text, gold, count
):
    queries = [
        reading.sql
        for reading in read(database, question_text, gold)
        if reading.name == "one_value"
    ]
    assert len(queries) == count
    for sql in queries:
        database.execute(sql)


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
    readings = read(database, question_text, gold, read_with(database))
    assert [reading.name for reading in readings if reading.name.startswith("stated")] == names


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
    queries = [reading.sql for reading in readings if reading.name == "named_value"]
    assert len(queries) == len(conditions)
    assert all("\"name\" = 'Tern'" in sql for sql in queries)
    assert all(any(condition in sql for sql in queries) for condition in conditions)
