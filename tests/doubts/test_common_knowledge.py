"""Queries that say what their question asks in other words: no probe that excludes speaks."""

import pytest

from answerkey.base.reasons import Policy
from answerkey.doubts.catalogue import DOUBTS
from answerkey.flags import FLAGS
from tests.shared.probe_world import ProbeWorld

WORLD = """
CREATE TABLE singer (
    singer_id INTEGER PRIMARY KEY, name TEXT, birthday TEXT, state TEXT, country TEXT,
    height_cm INT, label TEXT, is_male TEXT
);
INSERT INTO singer VALUES
    (1, 'Mike Stone', '1970-01-02', 'CA', 'USA', 190, '-', 'T'),
    (2, 'Joan Rush', '1999-05-06', 'TX', 'USA', 170, '+', 'F'),
    (3, 'Ines Sol', '2006-07-08', 'MD', 'ESP', 165, '+', 'F');
CREATE TABLE company (
    company_id INTEGER PRIMARY KEY, name TEXT, founded INT, headquarters TEXT, staff INT,
    city TEXT
);
INSERT INTO company VALUES
    (1, 'Lark Ltd', 1950, 'Los Angeles', 20, 'LA'), (2, 'Moss Inc', 2001, 'New York', 9, 'NYC'),
    (3, 'Fern Co', 1980, 'Oslo', 400, 'OSL');
CREATE TABLE pet (
    pet_id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, kind TEXT, weight REAL, age INT
);
INSERT INTO pet VALUES (1, 1, 'dog', 9.5, 3), (2, 1, 'cat', 3.5, 7), (3, 2, 'parrot', 0.4, 12);
CREATE TABLE budget (id INTEGER PRIMARY KEY, category TEXT, amount INT, spent REAL, remaining INT);
INSERT INTO budget VALUES (1, 'Food', 90, 40.5, 50), (2, 'Travel', 70, 30.5, 40);
"""
AS_ASKED = [
    # a name within a longer one
    ("How tall is Mike?", "SELECT height_cm FROM singer WHERE name LIKE '%Mike%'"),
    ("How tall is Mike?", "SELECT height_cm FROM singer WHERE name = 'Mike Stone'"),
    # abbreviations of places
    ("Which singers live in California?", "SELECT name FROM singer WHERE state = 'CA'"),
    ("Which companies have their seat in LA?",
     "SELECT name FROM company WHERE headquarters = 'Los Angeles'"),
    # age over a date of birth or a year of founding
    ("Show the singers in ascending order of age.",
     "SELECT name FROM singer ORDER BY birthday DESC"),
    ("Show the singers ordered by age, from old to young.",
     "SELECT name FROM singer ORDER BY birthday"),
    ("List companies by their age in descending order.",
     "SELECT name FROM company ORDER BY founded"),
    ("Which is the youngest singer?", "SELECT name FROM singer ORDER BY birthday DESC LIMIT 1"),
    ("Which company is the oldest?", "SELECT name FROM company ORDER BY founded LIMIT 1"),
    ("How old is the eldest singer's birthday record?", "SELECT min(birthday) FROM singer"),
    # a kind for its genus, a genus for its kinds
    ("How heavy are the singers' birds?", "SELECT weight FROM pet WHERE kind = 'parrot'"),
    # thresholds that everybody knows
    ("Which singers are tall?", "SELECT name FROM singer WHERE height_cm > 180"),
    ("Which pets are seniors?", "SELECT pet_id FROM pet WHERE age >= 10"),
    ("Which pets are young?", "SELECT pet_id FROM pet WHERE age BETWEEN 2 AND 5"),
    ("Which companies were founded in the last century?",
     "SELECT name FROM company WHERE founded < 2000"),
    ("Which companies are large?", "SELECT name FROM company WHERE staff > 250"),
    # signs and codes
    ("Which singers are not signed?", "SELECT name FROM singer WHERE label = '-'"),
    ("Which singers are women?", "SELECT name FROM singer WHERE is_male = 'F'"),
    # other words for columns
    ("What is the amount of budget spent on food?",
     "SELECT spent FROM budget WHERE category = 'Food'"),
    ("What is the date of birth of Joan Rush?",
     "SELECT birthday FROM singer WHERE name = 'Joan Rush'"),
    ("Top two categories in alphabetical order.",
     "SELECT category FROM budget ORDER BY category LIMIT 2"),
    ("List three singers and when they were born.",
     "SELECT name, birthday FROM singer LIMIT 3"),
]  # fmt: skip
LIMITS = {"limit_without_order", "row_order_dependent", "boolean_answer", "empty_answer"}
EXCLUDING = {flag.name for flag in FLAGS.values() if flag.policy is Policy.EXCLUDE} - LIMITS


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("common"), WORLD) as world:
        yield world


@pytest.mark.parametrize(("text", "sql"), AS_ASKED)
def test_common_knowledge_excludes_nothing(world, text, sql):
    findings = []
    for doubt in DOUBTS:
        if doubt.find_in_query is not None:
            findings += world.find_all(doubt.find_in_query, sql)
        else:
            finding = world.ask(doubt.find_in_question, text, sql)
            findings += [finding] if finding is not None else []
    assert [finding for finding in findings if finding.code in EXCLUDING] == []
