"""zero_count_dropped: things without a row elsewhere, which a count leaves out."""

import pytest

from answerkey.probes.joins import find_zero_count_dropped
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("zeros"), WORLD) as world:
        yield world


EACH = f"SELECT singer.name, count(*) {SONGS} GROUP BY singer.id"
KINDS = [
    ("How many songs has each singer?", EACH, "each"),
    ("Show the singers and their number of songs.", EACH, "each"),
    ("Songs by name of singer", f"SELECT name, count(song.id) {SONGS} GROUP BY name", "each"),
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
NONE = [
    ("How many songs has each singer who has one?", EACH),
    ("Show singer names who have songs, and how many.", EACH),
    ("Show the singer pupils who have songs, and how many.", EACH),
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
    (
        "Which singer has the most songs?",
        f"SELECT singer.name {SONGS} GROUP BY singer.id ORDER BY count(*) DESC LIMIT 1",
    ),
    ("Sales of each singer", f"SELECT singer.id, sum(sales) {SONGS} GROUP BY singer.id"),
    ("Songs of each singer", "SELECT singer_id, count(*) FROM song GROUP BY singer_id"),
]


@pytest.mark.parametrize(("text", "sql", "kind"), KINDS)
def test_count_without_those_of_none_is_found(world, text, sql, kind):
    assert world.ask(find_zero_count_dropped, text, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NONE)
def test_count_that_needs_no_others_is_no_finding(world, text, sql):
    assert world.ask(find_zero_count_dropped, text, sql) is None


def test_evidence_shows_who_is_dropped(world):
    assert world.ask(find_zero_count_dropped, *KINDS[0][:2]).evidence == {
        "kind": "each",
        "asked": "singer",
        "things": "singer.id",
        "dropped": [4],
    }
