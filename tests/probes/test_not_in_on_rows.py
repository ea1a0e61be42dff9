"""not_in_on_rows: a question that denies the whole, and a query that denies single rows."""

import pytest

from answerkey.probes.negation import find_not_in_on_rows
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("denials"), WORLD) as world:
        yield world


FOUND = [
    f"SELECT name {SONGS} WHERE language <> 'French'",
    f"SELECT DISTINCT name {SONGS} WHERE language != 'French' AND town = 'Bath'",
    f"SELECT name {SONGS} WHERE language NOT IN ('French', 'Latin')",
    f"SELECT name {SONGS} WHERE NOT language LIKE 'Fr%'",
    "SELECT singer_id FROM song WHERE language <> 'French'",  # of what a column refers to
    "SELECT count(DISTINCT singer_id) FROM song WHERE language <> 'French'",
]
NONE = [
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song)",
    f"SELECT name {SONGS} WHERE town <> 'Bath'",  # of the singer himself
    f"SELECT title {SONGS} WHERE town <> 'Bath'",  # a song has one singer
    f"SELECT title {SONGS} WHERE language <> 'French'",  # songs are asked for
    f"SELECT name {SONGS} WHERE language <> 'French' AND town <> 'Bath'",  # which one is meant?
    f"SELECT name {SONGS} WHERE language <> 'French' AND title IS NOT NULL",
    "SELECT singer_id FROM song WHERE singer_id <> 2",
    "SELECT id FROM song WHERE language <> 'French'",
    f"SELECT name {SONGS} WHERE language = 'French'",
    f"SELECT count(*) {SONGS} WHERE language <> 'French'",
]


@pytest.mark.parametrize("sql", FOUND)
def test_denial_on_rows_is_found(world, sql):
    found = world.ask(find_not_in_on_rows, "Which singers have no French song?", sql)
    assert found.evidence["kind"] == "in_data"
    assert found.evidence["returned"] == [[1]]


@pytest.mark.parametrize("sql", NONE)
def test_denial_of_the_whole_is_no_finding(world, sql):
    assert world.ask(find_not_in_on_rows, "Which singers have no French song?", sql) is None


def test_question_that_denies_nothing_is_no_finding(world):
    text = "Which singers have a song in another language than French?"
    assert world.ask(find_not_in_on_rows, text, FOUND[0]) is None


def test_denial_that_no_row_shows_is_possible(world):
    sql = f"SELECT name {SONGS} WHERE title <> 'Tide'"
    found = world.ask(find_not_in_on_rows, "Who does not have the song Tide?", sql)
    assert found.evidence == {
        "kind": "possible",
        "asked": "not",
        "denied": "title <> 'Tide'",
        "returned": [],
    }
