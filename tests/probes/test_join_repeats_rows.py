"""join_repeats_rows: one thing that is returned for each of its rows elsewhere."""

import pytest

from answerkey.probes.joins import find_join_repeats_rows
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("repeats"), WORLD) as world:
        yield world


KINDS = [
    (f"SELECT name {SONGS}", "in_data"),
    (f"SELECT name, town {SONGS} WHERE sales > 4", "in_data"),
    (f"SELECT name {SONGS} WHERE language = 'French'", "possible"),
    (f"SELECT name {SONGS} WHERE title = 'Tide'", "named"),
    (f"SELECT name {SONGS} WHERE song.id = 4", "named"),
    (
        "SELECT singer.name FROM singer JOIN membership AS m ON singer.id = m.singer_id"
        " JOIN venue ON venue.id = m.venue_id WHERE venue.name = 'Quay'",
        "linked",
    ),
    (f"SELECT song.singer_id {SONGS} WHERE town = 'Bath'", "referred"),
]
NONE = [
    f"SELECT DISTINCT name {SONGS}",
    f"SELECT name {SONGS} GROUP BY singer.id",
    f"SELECT name, title {SONGS}",
    f"SELECT title {SONGS} WHERE town = 'Bath'",  # a song has one singer
    f"SELECT name {SONGS} WHERE language = 'French' ORDER BY sales",  # one row a song is meant
    "SELECT name FROM singer LEFT JOIN song ON singer.id = song.singer_id WHERE song.id IS NULL",
    "SELECT singer_id FROM song WHERE language = 'Welsh'",
    "SELECT name FROM singer WHERE id IN (SELECT singer_id FROM song)",
    f"SELECT count(*) {SONGS}",
]


@pytest.mark.parametrize(("sql", "kind"), KINDS)
def test_thing_that_is_repeated_is_found(world, sql, kind):
    assert world.find(find_join_repeats_rows, sql).evidence["kind"] == kind


@pytest.mark.parametrize("sql", NONE)
def test_what_comes_once_is_no_finding(world, sql):
    assert world.find(find_join_repeats_rows, sql) is None


def test_evidence_shows_the_key_and_how_often_it_comes(world):
    assert world.find(find_join_repeats_rows, KINDS[0][0]).evidence == {
        "kind": "in_data",
        "key": "singer.id",
        "repeated": [[1, 2]],
    }
