"""The probes that compare the values of a query with its question and with the data."""

import pytest

from answerkey.doubts.literals import (
    find_comparison_mismatch,
    find_literal_not_in_column,
    find_literal_not_in_question,
)
from tests.shared.probe_world import ProbeWorld

PORTS = ("Alda", "Bree", "Cove", "Dune", "Eyre", "Fonn", "Gull", "Hove", "Inch", "Jura")
WORLD = f"""
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, owner TEXT, class TEXT, state TEXT, weight INTEGER,
    port TEXT, built TEXT
);
INSERT INTO ship VALUES
    (1, 'Sun', 'Moon', 'Grand Liner', 'sailing', 900, 'Alda', '2001-05-07'),
    (2, 'Tern', 'Wren', 'Barge', 'laid up', 40, 'Bree', '2007-01-01');
INSERT INTO ship (name, port) VALUES {", ".join(f"('s{n}', '{p}')" for n, p in enumerate(PORTS))};
CREATE TABLE crew (name TEXT, sex TEXT, ship_id INTEGER);
INSERT INTO crew VALUES ('Ann', 'female', 1), ('Bob', 'male', 2);
CREATE TABLE empty (t TEXT);
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("literals"), WORLD) as world:
        yield world


def kind_of(finding):
    return finding and finding.evidence["kind"]


NOT_IN_COLUMN = [
    ("class = 'barge'", "spelling"),
    ("name = 'Moon'", "other_column"),
    ("owner = 'null'", "null"),
    ("port IN ('Alda', 'Zulu')", None),  # nobody knows how it is spelt
    ("port = 'Zulu' OR name = 'Moon'", "other_column"),
    ("port = 'Alda'", None),
    ("owner = 'Moons'", None),  # a short word may be another one
    ("state = 'saling'", "near"),
    ("state = 'sialing'", "near"),
    ("class = 'Grand Linear'", "near"),
    ("class = 'Grand Loner'", "near"),
    ("class = 'Grand Liner 2'", None),
    ("class LIKE 'barge'", None),
    ("weight = 41", None),
    ("id IN (SELECT 1 FROM empty WHERE t = 'x')", None),
]


@pytest.mark.parametrize(("condition", "kind"), NOT_IN_COLUMN)
def test_text_that_a_column_does_not_hold(world, condition, kind):
    sql = f"SELECT id FROM ship WHERE {condition}"
    assert kind_of(world.find(find_literal_not_in_column, sql)) == kind


def test_evidence_names_what_is_stored_instead(world):
    finding = world.find(find_literal_not_in_column, "SELECT id FROM ship WHERE class = 'barge'")
    assert finding.evidence == {
        "kind": "spelling",
        "sql": "class = 'barge'",
        "column": ["ship", "class"],
        "stored": "Barge",
        "repair": "SELECT id FROM ship WHERE class = 'Barge'",
    }


def test_slip_of_the_pen_is_written_as_the_column_has_it(world):
    sql = "SELECT id FROM ship WHERE state = 'saling'"
    assert world.execute_repair(find_literal_not_in_column, sql) == [(1,)]


def test_text_that_the_question_has_takes_the_place_of_another(world):
    text, sql = "Which ship is laid up?", "SELECT id FROM ship WHERE state = 'sailing'"
    assert world.execute_repair(find_literal_not_in_question, sql, text) == [(2,)]
    told = "laid up means state = 'sailing'"
    assert world.ask(find_literal_not_in_question, text, sql, evidence=told) is None


NOT_IN_QUESTION = [
    ("Which ships weigh over 800?", "weight > 1000", True),
    ("Which ships are there?", "weight > 1000", True),
    ("Which ships over 800 are of class 7?", "class = 'Barge' AND weight > 900", True),
    ("Ships of the class Barge?", "class = 'Grand Liner'", True),
    ("Which barges are laid up?", "class = 'Barge' AND state = 'sailing'", True),
    ("Which barges are laid up?", "class = 'Barge'", False),  # in another form
    ("Which barge is laid up, or sailing?", "state = 'sailing'", False),
    ("Which boats are laid up?", "class <> 'Barge' AND state = 'laid up'", False),
    ("What is the state of the ship Sun?", "name = 'Sun'", False),
    ("Which ships are of the Grand kind?", "class = 'Grand Liner'", False),
    ("Which heavy ships are there?", "weight > 1000", False),  # a threshold of common knowledge
    ("Which ports are busy?", "port IN (SELECT port FROM ship GROUP BY 1 HAVING count(*) > 5)",
     False),
    ("Who owns ship No.5?", "id = 5", False),
    ("Which ships are insured?", "weight = 77", False),  # a code
    ("Which weigh at least 41?", "weight > 40", False),
    ("Which weigh more than 5?", "weight > -9", True),
    ("Which were built since May 2001?", "built > '2001-05-01'", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "condition", "is_found"), NOT_IN_QUESTION)
def test_number_that_the_question_does_not_give(world, text, condition, is_found):
    sql = f"SELECT name FROM ship WHERE {condition}"
    assert (world.ask(find_literal_not_in_question, text, sql) is not None) is is_found


def test_comparison_that_is_denied_is_turned(harbour):
    text = "Which ships do not have more than 5 crew?"
    less = harbour.database.execute(_ships("crew <= 5"))
    assert harbour.execute_repair(find_comparison_mismatch, _ships("crew > 5"), text) == less


HEAVIEST = "SELECT name FROM ship ORDER BY weight DESC"
LIMITS = [
    ("Which are the top 2 ships by weight?", f"{HEAVIEST} LIMIT 1", [("Sun",), ("Tern",)]),
    ("Show the top three ships by weight.", f"{HEAVIEST} LIMIT 5", None),
    ("Show the two heaviest ships.", f"{HEAVIEST} LIMIT 1", [("Sun",), ("Tern",)]),
    ("Show the top 2 ships by weight.", f"{HEAVIEST} LIMIT 2", False),
    ("Show the heaviest ship of the last 5 years.", f"{HEAVIEST} LIMIT 1", False),
    ("Show the top ship.", f"{HEAVIEST} LIMIT 1", False),
    ("Show the second heaviest ship.", f"{HEAVIEST} LIMIT 1 OFFSET 1", False),
    ("Show the 2nd heaviest ship.", f"{HEAVIEST} LIMIT 1 OFFSET 1", False),
    ("Show the top 2 ships by weight.", HEAVIEST, False),
]


@pytest.mark.parametrize(("text", "sql", "rows"), LIMITS)
def test_limit_is_the_number_of_the_question(world, text, sql, rows):
    finding = world.ask(find_literal_not_in_question, text, sql)
    assert kind_of(finding) == (None if rows is False else "limit")
    if rows:
        assert world.execute_repair(find_literal_not_in_question, sql, text) == rows


OF_SHIPS = "(SELECT owner FROM ship ORDER BY id LIMIT 1)"
SUBQUERIES = [
    (f"class <> {OF_SHIPS}", [(2,)]),  # owner <> 'Moon'
    ("name IN (SELECT owner FROM ship)", []),
    (f"owner <> {OF_SHIPS}", None),
    ("id IN (SELECT ship_id FROM crew)", None),
    ("name = (SELECT t FROM empty)", None),  # a column of nothing
    ("weight > (SELECT avg(weight) FROM ship)", None),
]


@pytest.mark.parametrize(("condition", "rows"), SUBQUERIES)
def test_column_that_has_none_of_the_values_of_a_subquery(world, condition, rows):
    sql = f"SELECT id FROM ship WHERE {condition}"
    assert kind_of(world.find(find_literal_not_in_column, sql)) == (
        None if rows is None else "subquery"
    )
    if rows:
        assert world.execute_repair(find_literal_not_in_column, sql) == rows


def test_evidence_gives_a_value(world):
    sql = "SELECT name FROM ship WHERE weight > 1000"
    text, evidence = "Which ships are heavy?", "heavy means weight > 1000"
    assert world.ask(find_literal_not_in_question, text, sql, evidence=evidence) is None


def _ships(condition: str) -> str:
    return f"SELECT name FROM ship WHERE {condition}"


OTHERWISE = [
    ("Ships with at least 5 crew.", _ships("crew > 5")),
    ("Ships with more than 5 crew.", _ships("5 <= crew")),
    ("Ships with no more than 1,000 tons.", _ships("gross_tonnage < 1000")),
    ("Ships of crews over 3 and under 9.", _ships("crew BETWEEN 3 AND 9")),
    ("Homes of two or more ships.",
     "SELECT home FROM ship GROUP BY home HAVING count(*) > 2"),
    ("Ships with less than 5 crew.", _ships("crew > 5")),
    ("Ships with at least 5 crew.", _ships("crew <= 5")),
    ("Ships that do not have more than 5 crew.", _ships("crew > 5")),
    ("Ships that do not have at least 5 crew.", _ships("crew >= 5")),
]  # fmt: skip
AS_ASKED = [
    ("Ships with at least 5 crew.", _ships("crew >= 5")),
    ("Ships ranked above 2.", _ships("rank < 2")),
    ("Ships with 5 crew.", _ships("crew > 5")),  # another probe reads values
    ("Ships that do not have more than 5 crew.", _ships("crew <= 5")),
    ("Ships that do not have more than 5 crew.", _ships("NOT crew > 5")),
    ("Ships not of Ito with more than 5 crew.", _ships("crew > 5 AND owner <> 'Ito'")),
    ("Ships with more than 5 crew.",
     "SELECT name FROM ship EXCEPT SELECT name FROM ship WHERE crew <= 5"),
    ("Ships between 10 and 25 years.", _ships("age BETWEEN 10 AND 25")),
    ("Ships of on and above 5 crew.", _ships("crew >= 5")),
    ("Ships called 'over 5' with 5 or less crew.", _ships("crew <= 5")),
    ("Ships of No.5 or more.", _ships("crew > 5")),
    ("Visits between 2010 and 2011, year by year.",
     "SELECT sum(day LIKE '2010%'), sum(day LIKE '2011%') FROM visit"),
    ("Ports with at least 5 berths.", "SELECT name FROM port WHERE berths = 5"),  # a code?
]  # fmt: skip


@pytest.mark.parametrize(("text", "sql"), OTHERWISE)
def test_comparison_that_is_not_asked_for_is_found(harbour, text, sql):
    assert harbour.ask(find_comparison_mismatch, text, sql) is not None


@pytest.mark.parametrize(("text", "sql"), AS_ASKED)
def test_comparison_that_is_asked_for_is_no_finding(harbour, text, sql):
    assert harbour.ask(find_comparison_mismatch, text, sql) is None


def test_evidence_of_the_corpus_decides_a_comparison(harbour):
    text, sql = "Ships with over 5 crew.", _ships("crew >= 5")
    assert harbour.ask(find_comparison_mismatch, text, sql, evidence="over 5: crew >= 5") is None


def test_long_question_is_read_in_time(harbour):
    text = "more than 5 " * 100_000
    assert harbour.ask(find_comparison_mismatch, text, _ships("crew >= 5")) is not None


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    (
        find_literal_not_in_column,
        None,
        "SELECT name FROM cow WHERE colour = 'white' OR colour = 'RED'",
        [("Ada",), ("Bea",), ("Cia",)],
    ),
    (find_literal_not_in_column, None, "SELECT name FROM cow WHERE colour IN ('Red', 'x')",
     [("Ada",), ("Cia",)]),
    (find_literal_not_in_column, None, "SELECT name FROM cow WHERE colour = 'null'", [("Dot",)]),
    (find_literal_not_in_column, None, "SELECT count(*) FROM cow WHERE colour <> ''", [(3,)]),
    (find_literal_not_in_column, None, "SELECT id FROM farm AS f WHERE f.name = 'alda'",
     [(1,), (3,)]),
    (find_literal_not_in_column, None, "SELECT id FROM farm WHERE name IN ('Alda', 'Reed')", None),
    # the operator that is asked for
    (find_comparison_mismatch, "Cows of at least 25 litres",
     "SELECT name FROM cow WHERE 25 < litres", [("Bea",), ("Dot",)]),
    (find_comparison_mismatch, "Cows of more than 20 litres and less than 35 litres",
     "SELECT name FROM cow WHERE litres BETWEEN 20 AND 35", [("Dot",)]),
    (find_comparison_mismatch, "Cows of less than 20 litres",
     "SELECT name FROM cow WHERE litres > 20", [("Cia",)]),
    (find_comparison_mismatch, "Cows of at least 35 litres and cows of at most 20 litres",
     "SELECT name FROM cow WHERE litres BETWEEN 20 AND 35", None),
    # the number of the question, if there is one
    (find_literal_not_in_question, "Which cows give over 15 litres?",
     "SELECT name FROM cow WHERE litres > 30", [("Ada",), ("Bea",), ("Dot",)]),
    (find_literal_not_in_question, "Which cows give 10 or 20 litres?",
     "SELECT name FROM cow WHERE litres > 30", None),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows


SOUND = [
    # years before another, other units, and a range without its ends
    (find_literal_not_in_question, "Which fairs took place in the 2 years before 2021?",
     "SELECT year FROM fair WHERE year BETWEEN 2019 AND 2020"),
    (find_literal_not_in_question, "Which cows are older than 0.07 m?",
     "SELECT name FROM cow WHERE age > 7"),
    (find_comparison_mismatch, "Which cows give between 10 and 25 litres, exclusive?",
     "SELECT name FROM cow WHERE litres > 10 AND litres < 25"),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql"), SOUND)
def test_sound_query_needs_no_repair(farm, probe, question, sql):
    assert farm.ask(probe, question, sql) is None
