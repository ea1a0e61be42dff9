"""Probes of worth: answers that can be guessed, and answers that are too much."""

import pytest

from answerkey.audit.comparisons import read_query
from answerkey.audit.guesses import list_guesses
from answerkey.audit.worth_probes import (
    find_boolean_answer,
    find_guessable,
    find_many_rows,
    find_too_large,
)
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, flag TEXT, crew INTEGER, is_sold TEXT);
INSERT INTO ship VALUES
    (1, 'Sun', 'NL', 9, 'Yes'), (2, 'Avon', 'NL', 40, 'no'), (3, 'Wren', 'BE', 7, 'F'),
    (4, 'Tern', 'NL', 25, NULL), (5, 'Bess', 'NL', 12, '1');
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO port VALUES (1, 'Alda'), (2, 'Bree');
CREATE VIEW dutch AS SELECT * FROM ship WHERE flag = 'NL';
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("worth"), WORLD) as world:
        yield world


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT count(*) FROM ship WHERE crew = 9", 1),
        ("SELECT count(*) FROM ship WHERE crew = 1000", 0),
        ("SELECT crew > 8 FROM ship WHERE id = 1", 1),
        ("SELECT is_sold FROM ship WHERE id = 1", "Yes"),
        ("SELECT is_sold FROM ship WHERE id = 2", "no"),
        ("SELECT is_sold FROM ship WHERE id = 3", "F"),
        ("SELECT ' TRUE '", " TRUE "),
    ],
)
def test_answer_that_is_one_of_two_is_boolean(world, sql, answer):
    assert world.find(find_boolean_answer, sql).evidence == {"answer": answer}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 2",
        "SELECT 1.0",
        "SELECT -1",
        "SELECT '1'",
        "SELECT 'Norway'",
        "SELECT ''",
        "SELECT NULL",
        "SELECT 1, 0",
        "SELECT id FROM ship WHERE id < 3",
        "SELECT id FROM ship WHERE id > 99",
    ],
)
def test_other_answer_is_not_boolean(world, sql):
    assert world.find(find_boolean_answer, sql) is None


GUESSABLE = [
    "SELECT count(*) FROM ship WHERE crew > 1",  # what SELECT count(*) FROM ship gives
    "SELECT count(*) FROM ship WHERE crew = 9",  # 1
    "SELECT count(DISTINCT id) FROM ship WHERE crew > 1",
    "SELECT flag FROM ship WHERE name = 'Sun'",  # first, last, most frequent, greatest
    "SELECT T1.flag FROM ship AS T1 JOIN port AS T2 ON T1.id = T2.id ORDER BY T1.crew LIMIT 1",
    "SELECT flag FROM (SELECT flag, crew FROM ship) ORDER BY crew DESC LIMIT 1",
    "SELECT flag AS f FROM ship WHERE crew > 30 UNION SELECT flag FROM ship WHERE crew > 30",
    "SELECT name FROM port WHERE id = 1",  # the first, and the least
    "SELECT flag FROM dutch WHERE name = 'Sun'",
]

HONEST = [
    "SELECT count(*) FROM ship",
    "SELECT COUNT(id) AS n FROM ship",
    "SELECT count(DISTINCT name) FROM ship",
    "SELECT max(crew) FROM ship",
    "SELECT avg(crew) FROM ship",
    "SELECT name FROM ship ORDER BY name LIMIT 1",
    "SELECT crew FROM ship ORDER BY crew DESC LIMIT 1",
    "SELECT name FROM ship WHERE id = 2",  # the least alone is a coincidence
    "SELECT name FROM ship WHERE id = 4",
    "SELECT count(*) FROM ship WHERE crew > 10",
    "SELECT crew FROM ship WHERE name = 'Tern'",
    "SELECT name, flag FROM ship WHERE id = 1",
    "SELECT flag FROM ship WHERE id < 3",
    "SELECT flag FROM ship WHERE id > 99",
    "SELECT max(crew) FROM ship WHERE id > 99",
    "SELECT 'NL'",
    "SELECT '5'",  # a text never equals a number
]


@pytest.mark.parametrize("sql", GUESSABLE)
def test_answer_of_trivial_queries_is_guessable(world, sql):
    assert world.find(find_guessable, sql) is not None


@pytest.mark.parametrize("sql", HONEST)
def test_honest_question_is_not_guessable(world, sql):
    assert world.find(find_guessable, sql) is None


def test_evidence_has_the_score_and_the_queries_that_give_the_answer(world):
    finding = world.find(find_guessable, "SELECT count(*) FROM ship WHERE crew > 1")
    assert finding.evidence == {
        "score": 0.333,
        "guesses": 3,
        "right": ['SELECT count(*) FROM "ship"'],
    }


def test_trivial_query_that_is_asked_for_is_no_guess_but_others_are(world):
    finding = world.find(
        find_guessable, "SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1"
    )
    assert finding.evidence["score"] == 0.6
    assert not any("GROUP BY" in sql for sql in finding.evidence["right"])


MAX, MIN = 'SELECT max("crew") FROM "ship"', 'SELECT min("crew") FROM "ship"'


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT max(crew) FROM ship", [MAX]),
        ("SELECT crew FROM ship ORDER BY crew DESC LIMIT 1", [MAX]),
        ("SELECT crew FROM ship ORDER BY crew LIMIT 1", [MIN]),
        ("SELECT max(crew) FROM (SELECT * FROM ship WHERE crew > 8)", []),
        ("SELECT crew FROM ship ORDER BY name LIMIT 1", []),
        ("SELECT crew FROM ship ORDER BY 'crew' LIMIT 1", []),
        ("SELECT max(crew) FROM ship GROUP BY flag", []),
        ("SELECT crew FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1", []),
        ("SELECT crew FROM ship GROUP BY crew ORDER BY count(*) DESC", []),
    ],
)
def test_trivial_query_is_asked_for_by_its_like_alone(world, sql, asked):
    guesses = list_guesses(read_query(world.inspect(sql)))
    assert [guess.sql for guess in guesses if guess.is_asked] == asked


def test_table_behind_a_cte_of_its_name_is_no_guess(world):
    sql = "WITH port AS (SELECT * FROM ship WHERE crew > 20) SELECT count(*) FROM port"
    assert world.find(find_guessable, sql, min_score=0.0) is None


def test_least_score_is_an_option(world):
    sql = "SELECT name FROM ship WHERE id = 2"
    assert world.find(find_guessable, sql, min_score=0.2) is not None
    three_of_five = "SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1"
    assert world.find(find_guessable, three_of_five, min_score=0.6) is not None
    asked = "SELECT flag FROM ship WHERE name = 'Sun'"
    assert world.find(find_guessable, asked, min_score=0.9) is None


def test_more_rows_than_allowed_is_found(world):
    assert world.find(find_many_rows, "SELECT id FROM ship", max_rows=5) is None
    finding = world.find(find_many_rows, "SELECT id FROM ship", max_rows=4)
    assert finding.evidence == {"rows": 5}


def test_bytes_of_the_json_answer_are_counted(world):
    sql = "SELECT 'Zoë'"  # four bytes of text in two quotes
    assert world.find(find_too_large, sql, max_bytes=6) is None
    assert world.find(find_too_large, sql, max_bytes=5).evidence == {"bytes": 6}
