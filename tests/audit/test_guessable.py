"""guessable: trivial queries that give the answer, and honest questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.probes.answers import find_guessable, list_guesses
from answerkey.probes.compared_values import read_query
from answerkey.sqlite.answers import answers_match
from tests.shared.probe_world import ProbeWorld
from tests.shared.random_tables import NAMES, ROWS, open_world, without_blobs

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
    assert world.find(find_guessable, sql, min_guess_score=0.0) is None


def test_least_score_is_an_option(world):
    sql = "SELECT name FROM ship WHERE id = 2"
    assert world.find(find_guessable, sql, min_guess_score=0.2) is not None
    three_of_five = "SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1"
    assert world.find(find_guessable, three_of_five, min_guess_score=0.6) is not None
    asked = "SELECT flag FROM ship WHERE name = 'Sun'"
    assert world.find(find_guessable, asked, min_guess_score=0.9) is None


def score_all_guesses(inspection) -> tuple[int, list[str]]:
    """How many guesses there are, and those that are right, every one of them asked for."""
    reading, answer = read_query(inspection), inspection.rows[0][0]
    valued = [(guess, guess.read(reading.values)) for guess in list_guesses(reading)]
    kept = [
        (guess, value)
        for guess, value in valued
        if value is not None and isinstance(value, str) == isinstance(answer, str)
    ]
    right = [
        guess.sql
        for guess, value in kept
        if not guess.is_asked and answers_match(answer, value, ordered=False)
    ]
    return len(kept), right


@given(
    ROWS,
    st.sampled_from(
        [
            "SELECT max({0}) FROM t",
            "SELECT count({0}) FROM t WHERE {1} > 0",
            "SELECT {0} FROM t WHERE {1} IS NOT NULL AND {0} IS NOT NULL LIMIT 1",
            "SELECT {0} || {1} FROM t ORDER BY {0} DESC LIMIT 1",
        ]
    ),
    st.tuples(NAMES, NAMES),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.5, 0.9, 1.0]),
)
def test_score_is_that_of_all_guesses(rows, template, names, min_score):
    with open_world(without_blobs(rows)) as world:
        inspection = world.inspect(template.format(*names), min_guess_score=min_score)
        if not inspection.rows or inspection.rows[0][0] is None:
            return
        count, right = score_all_guesses(inspection)
        findings = find_guessable(inspection)
        if not right or len(right) / count < min_score:
            assert findings == []
        else:
            [finding] = findings
            assert finding.evidence["guesses"] == count
            assert finding.evidence["right"] == right[:5]
