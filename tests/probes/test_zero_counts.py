"""The probe of counts of zero: things that have no row to be counted."""

import pytest

from answerkey.probes.zero_counts import find_zero_count_dropped

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
EACH = f"SELECT singer.name, count(*) {SONGS} GROUP BY singer.id"

# Queries against their questions: (question, query, kind of the finding), and without one.
ZEROS = [
    ("How many songs has each singer?", EACH, "each"),
    ("Songs of each singer", f"SELECT singer_id, count(*) {SONGS} GROUP BY singer_id", "each"),
    (
        "How many songs has each singer from York?",
        f"SELECT singer.id, count(*) {SONGS} WHERE town = 'York' GROUP BY singer.id",
        "possible",
    ),
    (  # by what a joined table refers to
        "How many songs are there of the singers at all venues?",
        "SELECT venue_id, count(*) FROM concert JOIN song ON song.singer_id = concert.singer_id"
        " GROUP BY venue_id",
        "all",
    ),
    (
        "Which singers have at most one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) <= 1",
        "at_most",
    ),
    (
        "Which singer has the fewest songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) LIMIT 1",
        "fewest",
    ),
    (
        "Show all singer ids and the number of their songs.",
        "SELECT singer_id, count(*) FROM song GROUP BY singer_id",
        "all",
    ),
]
NO_ZEROS = [
    ("How many songs has each singer who has one?", EACH),
    ("Show singer names who have songs, and how many.", EACH),
    ("How many songs has each singer?", EACH.replace("JOIN song", "LEFT JOIN song")),
    ("How many songs are there of each artist?", EACH),  # names no table
    (
        "How many Welsh songs has each singer?",
        f"SELECT singer.id, count(*) {SONGS} WHERE language = 'Welsh' GROUP BY singer.id",
    ),
    (  # venues are not read, and nobody says all
        "How many songs are there of the singers at each venue?",
        "SELECT venue_id, count(*) FROM concert JOIN song ON song.singer_id = concert.singer_id"
        " GROUP BY venue_id",
    ),
    ("Songs of singers by town", f"SELECT town, count(*) {SONGS} GROUP BY town"),
    (
        "Which singers have more than one song?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id HAVING count(*) > 1",
    ),
    ("Songs of each singer", "SELECT singer_id, count(*) FROM song GROUP BY singer_id"),
]


@pytest.mark.parametrize(("text", "sql", "kind"), ZEROS)
def test_things_without_a_row_are_found(choir, text, sql, kind):
    assert choir.ask(find_zero_count_dropped, text, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NO_ZEROS)
def test_counts_of_which_none_may_be_zero_are_no_finding(choir, text, sql):
    assert choir.ask(find_zero_count_dropped, text, sql) is None


def test_evidence_names_things_without_a_row(choir):
    evidence = {"kind": "each", "asked": "singer", "things": "singer.id", "dropped": [4]}
    assert evidence.items() <= choir.ask(find_zero_count_dropped, *ZEROS[0][:2]).evidence.items()


# Queries whose repair answers these rows; None: a finding that has no repair.
REPAIRS = [
    # counts of zero: of all, in their order, of the fewest, and of a table that is not there
    ("How many cows has each farm?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY count(*), f.name", [("Sand", 0), ("Moss", 2), ("Reed", 2)]),
    ("Which farm has the fewest cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY count(*) LIMIT 1", [("Sand",)]),
    ("Show all farm ids and the number of cows.",
     "SELECT farm_id, count(*) AS n FROM cow WHERE age > 5 GROUP BY farm_id ORDER BY n DESC, 1",
     [(1, 1), (2, 1), (3, 0)]),
    ("Which farms have fewer than 2 old cows?",
     "SELECT f.name FROM farm AS f JOIN cow AS c ON c.farm_id = f.id WHERE f.town = 'Alda'"
     " GROUP BY f.id HAVING count(*) < 2", [("Sand",)]),
    ("How many litres of how many cows has each farm?",
     "SELECT f.name, sum(c.litres), count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id"
     " GROUP BY f.id", None),
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql", "rows"), REPAIRS)
def test_repair_answers_what_was_meant(farm, question, sql, rows):
    assert farm.execute_repair(find_zero_count_dropped, sql, question) == rows


SOUND = [
    # those of the most have no count of zero
    ("Which farms have the most cows?",
     "SELECT f.name, count(*) FROM farm AS f JOIN cow AS c ON c.farm_id = f.id GROUP BY f.id"
     " ORDER BY 2 DESC"),
    ("How often is each cow in all the fairs?",
     "SELECT c.name, count(*) FROM cow AS c JOIN fair AS f ON f.cow_id = c.id GROUP BY c.id"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "sql"), SOUND)
def test_sound_query_needs_no_repair(farm, question, sql):
    assert farm.ask(find_zero_count_dropped, question, sql) is None
