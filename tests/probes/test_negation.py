"""Probes of negation: what a query denies and its question does not, and the other way round."""

import pytest

from answerkey.probes.negation import find_negation_mismatch, find_not_in_on_rows

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
DENIED = "Which singers have no French song?"

DENIALS = [
    f"SELECT name {SONGS} WHERE language <> 'French'",
    f"SELECT name {SONGS} WHERE language NOT IN ('French', 'Latin')",
    "SELECT singer_id FROM song WHERE language <> 'French'",  # of what a column refers to
    "SELECT count(DISTINCT singer_id) FROM song WHERE language <> 'French'",
]
NO_DENIALS = [
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song)",
    f"SELECT name {SONGS} WHERE town <> 'Bath'",  # of the singer himself
    f"SELECT title {SONGS} WHERE town <> 'Bath'",  # a song has one singer
    f"SELECT title {SONGS} WHERE language <> 'French'",  # songs are asked for
    f"SELECT name {SONGS} WHERE language <> 'French' AND town <> 'Bath'",  # which one is meant?
    "SELECT singer_id FROM song WHERE singer_id <> 2",
    f"SELECT count(*) {SONGS} WHERE language <> 'French'",
]


@pytest.mark.parametrize("sql", DENIALS)
def test_value_that_other_rows_of_a_thing_may_have_is_found(choir, sql):
    assert choir.ask(find_not_in_on_rows, DENIED, sql) is not None


@pytest.mark.parametrize("sql", NO_DENIALS)
def test_value_that_is_denied_of_things_is_no_finding(choir, sql):
    assert choir.ask(find_not_in_on_rows, DENIED, sql) is None


def test_question_for_other_values_is_no_finding(choir):
    text = "Which singers have a song in another language than French?"
    assert choir.ask(find_not_in_on_rows, text, DENIALS[0]) is None


def test_evidence_shows_what_is_asked_and_denied(choir):
    evidence = {"asked": "no", "denied": "language <> 'French'"}
    finding = choir.ask(find_not_in_on_rows, DENIED, DENIALS[0])
    assert evidence.items() <= finding.evidence.items()


OTHERWISE = [
    ("Ships of Ito.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Ships that came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("Ships with an a.", "SELECT name FROM ship WHERE name NOT LIKE '%a%'"),
]
AS_ASKED = [
    ("Ships that never came.", "SELECT id FROM ship EXCEPT SELECT ship FROM visit"),
    ("Ships of an abnormal crew.", "SELECT name FROM ship WHERE crew NOT BETWEEN 3 AND 9"),
    ("Names, in a column.",
     "SELECT CASE WHEN owner <> 'Ito' THEN name ELSE owner END FROM ship"),
    ("Ships, those of Ito aside.", "SELECT name FROM ship WHERE owner <> 'Ito'"),
    ("Names of ships.", "SELECT name FROM ship WHERE owner IS NOT NULL"),
    ("Names of owners.", "SELECT owner FROM ship WHERE owner <> ''"),
    ("Pairs of ships.", "SELECT a.name, b.name FROM ship a JOIN ship b ON a.id <> b.id"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sql"), OTHERWISE)
def test_negation_that_the_question_does_not_have_is_found(harbour, text, sql):
    assert harbour.ask(find_negation_mismatch, text, sql) is not None


@pytest.mark.parametrize(("text", "sql"), AS_ASKED)
def test_negation_that_the_question_has_is_no_finding(harbour, text, sql):
    assert harbour.ask(find_negation_mismatch, text, sql) is None


def test_evidence_of_the_corpus_decides_a_negation(harbour):
    text, sql = "Odd ships.", "SELECT name FROM ship WHERE owner NOT IN ('Ito', 'Lee')"
    assert harbour.ask(find_negation_mismatch, text, sql)
    evidence = "odd refers to owner NOT IN ('Ito', 'Lee')"
    assert harbour.ask(find_negation_mismatch, text, sql, evidence=evidence) is None


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    (find_negation_mismatch, "Which cows are red?",
     "SELECT name FROM cow WHERE colour <> 'red'", [("Ada",), ("Cia",)]),
    (find_negation_mismatch, "Which cows have a gold medal?",
     "SELECT id FROM cow EXCEPT SELECT cow_id FROM fair WHERE medal = 'gold'", [(1,), (2,)]),
    (find_negation_mismatch, "Which cows share a farm with Ada?",
     "SELECT b.name FROM cow AS a JOIN cow AS b ON a.farm_id = b.farm_id"
     " WHERE a.name = 'Ada' AND b.name <> 'Ada'", [("Ada",), ("Bea",)]),
    (find_negation_mismatch, "Which red cows live on a farm?",
     "SELECT name FROM cow WHERE colour <> 'red' AND NOT age = 7", None),
    # things of which something is denied, and groups of things
    (find_not_in_on_rows, "Which cows have no gold medal?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id WHERE f.medal <> 'gold'",
     [("Cia",), ("Dot",)]),
    (find_not_in_on_rows, "Which animals have no gold medal?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id WHERE f.medal <> 'gold'",
     [("Cia",)]),
    (find_not_in_on_rows, "Which animals have not been there in 2020 and not in 2021?",
     "SELECT cow_id FROM fair WHERE year <> 2020 AND year <> 2021", []),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, probe, question, sql, rows):
    assert farm.execute_repair(probe, sql, question) == rows


SOUND = [
    (find_negation_mismatch, "Which farms are foreign to Alda?",
     "SELECT name FROM farm WHERE town <> 'Alda'"),
    (find_negation_mismatch, "Which cows changed their farm between the fairs?",
     "SELECT a.cow_id FROM fair AS a JOIN fair AS b ON a.cow_id = b.cow_id"
     " WHERE NOT a.medal = b.medal"),
    (find_not_in_on_rows, "Which cows came in 2020 and did not win gold?",
     "SELECT c.name FROM cow AS c JOIN fair AS f ON f.cow_id = c.id"
     " WHERE f.year = 2020 AND f.medal <> 'gold'"),
]  # fmt: skip


@pytest.mark.parametrize(("probe", "question", "sql"), SOUND)
def test_sound_query_needs_no_repair(farm, probe, question, sql):
    assert farm.ask(probe, question, sql) is None
