"""What a question asks for, against the columns and aggregates that its query selects."""

import pytest

from answerkey.doubts.projection import find_projection_mismatch
from answerkey.english.question import Question
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE lighthouse (
    lighthouse_id INTEGER PRIMARY KEY, name TEXT, lit_date TEXT, closed_date TEXT, height INT,
    acc_kind TEXT, acc_bal REAL, cost_per_month INT, keeper_id INT, boss INT);
INSERT INTO lighthouse VALUES
    (1, 'Alda', '1880-01-01', '1990-02-02', 30, 'main', 5.5, 3, 1, 2),
    (2, 'Bree', '1890-03-03', '1991-04-04', 25, 'spare', 7.5, 4, 1, 2),
    (3, 'Cley', '1890-03-03', '1992-04-04', 25, 'spare', 7.5, 4, 2, 1);
CREATE TABLE keeper (
    keeper_id INTEGER PRIMARY KEY, fname TEXT, lname TEXT, gender TEXT, birth_town TEXT, xyz INT,
    other_details TEXT);
INSERT INTO keeper VALUES
    (1, 'Ann', 'Poe', 'F', 'Ulm', 1, 'a'), (2, 'Bo', 'Quy', 'M', 'Rye', 2, 'b');
CREATE TABLE baker (id INTEGER PRIMARY KEY, name TEXT, town TEXT);
INSERT INTO baker VALUES (1, 'Ann', 'Ulm'), (2, 'Bo', 'Rye'), (3, 'Ann', 'Rye');
CREATE TABLE cake (
    id INTEGER PRIMARY KEY, baker_id INT REFERENCES baker (id), title TEXT, taste TEXT);
INSERT INTO cake VALUES
    (1, 1, 'Sun', 'plum'), (2, 1, 'Moon', 'nut'), (3, 2, 'Sun', 'nut'), (4, 3, 'Star', 'nut');
"""

FIRE = [
    (
        "missing_column",
        "Which keepers have a light? For each, tell the town, and the birth town and the xyz.",
        "SELECT keeper_id, xyz FROM keeper",
    ),
    ("count_missing", "How many keepers are women?", "SELECT fname FROM keeper"),
    (
        "count_missing",
        "What is the number of towns with more than one keeper?",
        "SELECT birth_town FROM keeper GROUP BY birth_town HAVING count(*) > 1",
    ),
    ("count_not_asked", "Which towns are keepers born in?", "SELECT count(birth_town) FROM keeper"),
    (
        "value_per_group",
        "How many keepers have more than one lighthouse?",
        "SELECT count(*) FROM lighthouse GROUP BY keeper_id HAVING count(*) > 1",
    ),
    (
        "unasked_extreme",
        "What is the name of the highest lighthouse of each keeper?",
        "SELECT name, max(height) FROM lighthouse GROUP BY keeper_id",
    ),
    (
        "missing_column",
        "What are the lit and closed dates of each lighthouse?",
        "SELECT lit_date, lit_date FROM lighthouse",
    ),
    (
        "missing_column",
        "Which keepers are women? Tell me their first names.",
        "SELECT lname FROM keeper WHERE gender = 'F'",
    ),
    (
        "missing_column",
        "Find the name and height of all lighthouses in order of their height.",
        "SELECT name FROM lighthouse ORDER BY height",
    ),
    (
        "similar_column",
        "Show the names and account balances of lighthouses.",
        "SELECT name, acc_kind FROM lighthouse",
    ),
]

HOLD = [
    (
        "Give the number of the lighthouse of the most steps.",
        "SELECT lighthouse_id FROM lighthouse",
    ),
    ("Give the number of the keeper with more than 3 lamps.", "SELECT fname FROM keeper"),
    ("How many steps has Alda?", "SELECT keeper_id, height FROM lighthouse WHERE name = 'Alda'"),
    ("How many lamps has the keeper Ann?", "SELECT '12' FROM keeper WHERE fname = 'Ann'"),
    (
        "Who is the boss of Alda? Give the first name.",
        "SELECT k.fname FROM keeper k JOIN lighthouse l ON l.boss = k.keeper_id",
    ),
    ("How high is the lowest of each?", "SELECT name, min(height) FROM lighthouse GROUP BY 1"),
    ("Show first names and birthtowns.", "SELECT fname, birth_town FROM keeper"),
    ("If all of every month's costs rose?", "SELECT sum(cost_per_month) FROM lighthouse"),
    ("Give the number of the keeper.", "SELECT fname FROM keeper"),
    (
        "Show the lighthouse and the greatest height of each keeper.",
        "SELECT name, max(height) FROM lighthouse GROUP BY keeper_id",
    ),
    ("What is the size of the crew?", "SELECT count(*) FROM keeper"),
    (
        "How many lighthouses does each keeper have?",
        "SELECT count(*) FROM lighthouse GROUP BY keeper_id",
    ),
    ("Show lighthouses along with their height", "SELECT name, height FROM lighthouse"),
    ("Show the name (by closed date) of lighthouses.", "SELECT name FROM lighthouse"),
    ('Who said "closed date"? Show the name.', "SELECT name FROM lighthouse"),
    ("Show the height class of lighthouses.", "SELECT name FROM lighthouse"),
    ("Show the names of the towns that keepers are born in.", "SELECT birth_town FROM keeper"),
    ("How many men and women are there?", "SELECT gender, count(*) FROM keeper GROUP BY gender"),
    ("Find the ids of keepers from Rye.", "SELECT * FROM keeper WHERE birth_town = 'Rye'"),
    ("What is the average height?", "SELECT height FROM lighthouse"),  # a column may hold it
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("projection"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("kind", "text", "sql"), FIRE)
def test_another_projection_than_asked_for_is_found(world, kind, text, sql):
    finding = world.ask(find_projection_mismatch, text, sql)
    assert finding is not None
    assert finding.evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), HOLD)
def test_projection_that_is_asked_for_is_left_alone(world, text, sql):
    assert world.ask(find_projection_mismatch, text, sql) is None


def test_evidence_tells_what_is_asked_for_and_what_is_selected(world):
    text = "Show the names and closed dates of lighthouses."
    finding = world.ask(find_projection_mismatch, text, "SELECT name, lit_date FROM lighthouse")
    assert finding.evidence == {
        "kind": "missing_column",
        "asked": "closed dates",
        "column": "lighthouse.closed_date",
        "selected": ["name", "lit_date"],
        "repair": 'SELECT name, "closed_date" FROM lighthouse',
    }


@pytest.mark.parametrize("filler", ["name and ", "“ ", "‘a ", "( ", '"'])
def test_text_too_long_for_a_question_is_not_read(world, filler):
    text = "Show the " + filler * 100_000
    assert world.ask(find_projection_mismatch, text, "SELECT lit_date FROM lighthouse") is None


EXPLAINED = [
    (
        "Show the names and closed dates of lighthouses.",
        "SELECT name, lit_date FROM lighthouse",
        "closed date refers to lit_date",
    ),
    (
        "Which towns are keepers born in?",
        "SELECT count(birth_town) FROM keeper",
        "towns refers to COUNT(birth_town)",
    ),
]


@pytest.mark.parametrize(("text", "sql", "evidence"), EXPLAINED)
def test_evidence_of_the_corpus_is_part_of_the_question(world, text, sql, evidence):
    assert world.ask(find_projection_mismatch, text, sql) is not None
    assert world.ask(find_projection_mismatch, text, sql, evidence=evidence) is None


def test_meaning_of_a_column_names_it(world):
    inspection = world.inspect("SELECT xyz FROM keeper")
    text = "Show the gender of keepers."
    told = Question(text, meanings={"xyz": "gender"})
    assert find_projection_mismatch(inspection, Question(text)) != []
    assert find_projection_mismatch(inspection, told) == []


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    # another column, in its place or added
    (find_projection_mismatch, "What are the name and the age of the cows?",
     "SELECT name, litres FROM cow WHERE id = 1", [("Ada", 5)]),
    (find_projection_mismatch, "What are the name and the age of the red cows?",
     "SELECT name FROM cow WHERE colour = 'red'", [("Ada", 5), ("Cia", 3)]),
    (find_projection_mismatch, "What are the sold and bought day of each cow?",
     "SELECT sold_day, sold_day FROM cow WHERE id = 1", [("s1", "b1")]),
    (find_projection_mismatch, "When was each cow bought?",
     "SELECT sold_day FROM cow WHERE id = 1", [("b1",)]),
    (find_projection_mismatch, "What are the age and the litres of each colour?",
     "SELECT colour, max(litres) FROM cow GROUP BY colour", None),
    (find_projection_mismatch, "What is the age of the cows that are not red?",
     "SELECT litres FROM cow EXCEPT SELECT litres FROM cow WHERE colour = 'red'", [(7,), (9,)]),
    # other aggregates
    (find_projection_mismatch, "How many colours have more than 1 cow?",
     "SELECT count(*) FROM cow GROUP BY colour HAVING count(*) > 1", [(1,)]),
    (find_projection_mismatch, "Which colours are there?",
     "SELECT count(DISTINCT colour) FROM cow WHERE age < 8", [("red",), ("White",)]),
    (find_projection_mismatch, "How many red cows are there?",
     "SELECT count(*) FROM cow WHERE colour = 'red' GROUP BY farm_id", [(2,)]),
    (find_projection_mismatch, "What is the name of the oldest cow of its colour?",
     "SELECT name, max(age) FROM cow WHERE colour IS NOT NULL GROUP BY colour ORDER BY name",
     [("Ada",), ("Bea",)]),
    (find_projection_mismatch, "What is the name of the oldest cow?",
     "SELECT name, max(age) FROM cow", [("Dot",)]),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows


SOUND = [
    # a verb between two words is no name of a column
    (find_projection_mismatch, "Which fairs sold one day cows?",
     "SELECT DISTINCT year FROM fair JOIN cow ON cow.id = cow_id"),
    (find_projection_mismatch, "Did Ada win a medal?", "SELECT count(*) FROM fair"),
    (find_projection_mismatch, "Show the name and the age of the oldest cow of each colour.",
     "SELECT name, max(age) FROM cow GROUP BY colour"),
    (find_projection_mismatch, "Sort the cows by the day they were sold, the first day first, and"
     " those bought last.", "SELECT bought_day FROM cow ORDER BY sold_day"),
    (find_projection_mismatch, "The most litres of each farm, with its name",
     "SELECT f.name, max(c.litres) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"),
    # a state is no column that is asked for; how common a thing is, is a count
    (find_projection_mismatch, "Which trips are short?", "SELECT id FROM trip WHERE id = 1"),
    (find_projection_mismatch, "How common is red?", "SELECT count(*) FROM cow"),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql"), SOUND)
def test_sound_query_needs_no_repair(farm, probe, question, sql):
    assert farm.ask(probe, question, sql) is None
