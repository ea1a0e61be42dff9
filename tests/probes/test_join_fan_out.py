"""join_fan_out: things that are counted, or values that are added, once for each joined row."""

import pytest

from answerkey.probes.joins import find_join_fan_out
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer JOIN song ON singer.id = song.singer_id"
AT_VENUES = "FROM concert JOIN venue ON venue.id = concert.venue_id"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("fans"), WORLD) as world:
        yield world


KINDS = [
    ("How many singers have a song?", f"SELECT count(*) {SONGS}", "counted"),
    (
        "Which town has the most singers with songs?",
        f"SELECT town {SONGS} GROUP BY town ORDER BY count(*) DESC LIMIT 1",
        "counted",
    ),
    (
        "Which venues had at least three singers?",
        f"SELECT name {AT_VENUES} GROUP BY venue.id HAVING count(*) >= 3",
        "referred",
    ),
    ("Number of singers on stage", "SELECT count(*) FROM concert", "referred"),
    (
        "How many singers sang in 2021?",
        "SELECT count(*) FROM concert WHERE year = 2021",
        "possible",
    ),
    ("How many singers sold little?", f"SELECT count(*) {SONGS} WHERE sales < 5", "possible"),
    ("Total fee by town", f"SELECT town, sum(fee) {SONGS} GROUP BY town", "added"),
    (
        "Total sales of songs and total amount of prizes by singer",
        "SELECT singer.id, sum(sales), sum(amount) FROM singer JOIN song"
        " ON song.singer_id = singer.id JOIN prize ON prize.singer_id = singer.id GROUP BY 1",
        "added",
    ),
]
NONE = [
    ("Total fee of the songs", f"SELECT sum(fee) {SONGS}"),  # of each song
    ("How many singers have a song?", f"SELECT count(DISTINCT singer.id) {SONGS}"),
    ("How many songs have singers?", f"SELECT count(*) {SONGS}"),
    (
        "How many songs did the singers of each town write?",
        f"SELECT count(*) {SONGS} GROUP BY town",
    ),
    ("How many singers are there?", "SELECT count(*) FROM singer"),
    ("Count the songs of each of the singers", f"SELECT count(*) {SONGS} GROUP BY singer.id"),
    (
        "How many venues has each singer joined?",
        "SELECT singer_id, count(*) FROM membership GROUP BY singer_id",
    ),
    (
        "How many venues has Cy Dunn joined?",
        "SELECT count(*) FROM singer JOIN membership ON singer_id = singer.id"
        " WHERE name = 'Cy Dunn'",
    ),
    ("How many singers wrote Tide?", f"SELECT count(*) {SONGS} WHERE title = 'Tide'"),  # one song
    ("Total sales of the 3 singers", f"SELECT sum(sales) {SONGS}"),
    ("How many singers have no prize?", f"SELECT singer.id, count(song.id) {SONGS} GROUP BY 1"),
    ("How many singers?", f"SELECT name, count(*) OVER (PARTITION BY singer.id) {SONGS}"),
    ("What is the average fee of a song?", f"SELECT avg(fee) {SONGS}"),
]


@pytest.mark.parametrize(("text", "sql", "kind"), KINDS)
def test_repeated_thing_is_found(world, text, sql, kind):
    assert world.ask(find_join_fan_out, text, sql).evidence["kind"] == kind


@pytest.mark.parametrize(("text", "sql"), NONE)
def test_what_is_taken_once_is_no_finding(world, text, sql):
    assert world.ask(find_join_fan_out, text, sql) is None


def test_evidence_shows_what_is_counted_twice(world):
    text, sql, _ = KINDS[1]
    assert world.ask(find_join_fan_out, text, sql).evidence == {
        "kind": "counted",
        "asked": "the most singers",
        "repeated": "singer.id",
        "groups": [["Bath", 2, 3]],
    }
