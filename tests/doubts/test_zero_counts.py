"""The probe of counts of zero: things that have no row to be counted."""

import pytest

from answerkey.doubts.zero_counts import find_zero_count_dropped

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
EACH = f"SELECT singer.name, count(*) {SONGS} GROUP BY singer.id"

# Queries against their questions: (question, query, kind of the finding), and without one.
ZEROS = [
    (
        "Which singers have at most one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) <= 1",
        "at_most",
    ),
    (
        "Which singers from York have at most one song?",
        f"SELECT singer.name {SONGS} WHERE town = 'York' GROUP BY singer.id HAVING count(*) < 2",
        "possible",
    ),
    (
        "Which singer has the fewest songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) LIMIT 1",
        "fewest",
    ),
    (  # by a table that refers to them
        "Show the ids of all singers with fewer than two songs.",
        "SELECT singer_id FROM song GROUP BY singer_id HAVING count(*) < 2",
        "at_most",
    ),
]
NO_ZEROS = [
    ("How many songs has each singer?", EACH),
    (
        "Which singer has the fewest songs?",
        f"SELECT singer.name {SONGS.replace('JOIN', 'LEFT JOIN')} GROUP BY singer.id"
        " ORDER BY count(song.id) LIMIT 1",
    ),
    (  # names no table
        "Which artist has the fewest songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) LIMIT 1",
    ),
    (
        "Which singer from each town has the fewest songs?",
        f"SELECT town {SONGS} GROUP BY town ORDER BY count(*) LIMIT 1",
    ),
    (
        "Which singers have more than one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) > 1",
    ),
    (
        "Which singer has the most songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) DESC LIMIT 1",
    ),
]


@pytest.mark.parametrize(("text", "sql", "kind"), ZEROS)
def test_things_without_a_row_are_found(choir, text, sql, kind):
    assert choir.ask(find_zero_count_dropped, text, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NO_ZEROS)
def test_counts_of_which_none_may_be_zero_are_no_finding(choir, text, sql):
    assert choir.ask(find_zero_count_dropped, text, sql) is None


def test_evidence_names_things_without_a_row(choir):
    evidence = {"kind": "at_most", "asked": "singers", "things": "singer.id", "dropped": [4]}
    assert evidence.items() <= choir.ask(find_zero_count_dropped, *ZEROS[0][:2]).evidence.items()


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    ("Which farm has the fewest cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY count(*) LIMIT 1", [("Sand",)]),
    ("Which farms have fewer than 2 old cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id WHERE f.town = 'Alda'"
     " GROUP BY f.id HAVING count(*) < 2", [("Sand",)]),
    ("Which farms have fewer than 3 cows?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " HAVING count(*) < 3", [("Moss", 2), ("Reed", 2), ("Sand", 0)]),
    ("Which farms have fewer than 3 cows, the most first?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " HAVING count(*) < 3 ORDER BY count(*) DESC", None),
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, question, sql, rows):
    assert farm.execute_repair(find_zero_count_dropped, sql, question) == rows
