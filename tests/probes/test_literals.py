"""The probes that compare the values of a query with its question and with the data."""

import pytest

from answerkey.probes.literals import find_literal_not_in_column, find_literal_not_in_question
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


NOT_IN_QUESTION = [
    ("Which ships weigh over 800?", "weight > 1000", True),
    ("Which ships are there?", "weight > 1000", True),
    ("Which ships over 800 are of class 7?", "class = 'Barge' AND weight > 900", True),
    ("Ships of the class Barge?", "class = 'Grand Liner'", False),  # texts are no numbers
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


def test_evidence_gives_a_value(world):
    sql = "SELECT name FROM ship WHERE weight > 1000"
    text, evidence = "Which ships are heavy?", "heavy means weight > 1000"
    assert world.ask(find_literal_not_in_question, text, sql, evidence=evidence) is None
