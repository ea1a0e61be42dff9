"""group_by_non_key: things that are grouped by a name that they share, or may share."""

import pytest

from answerkey.probes.groups import find_group_by_non_key
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld

SONGS = "FROM singer AS a JOIN song AS b ON a.id = b.singer_id"
CONCERTS = "FROM venue AS a JOIN concert AS b ON a.id = b.venue_id"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("groups"), WORLD) as world:
        yield world


FOUND = [
    ("How many songs has each singer?", f"SELECT a.name, count(*) {SONGS} GROUP BY a.name"),
    ("Sales by singer?", f"SELECT a.name, sum(b.sales) {SONGS} GROUP BY 1"),
    (
        "Who has most songs?",
        f"SELECT a.name {SONGS} GROUP BY a.name ORDER BY count(*) DESC LIMIT 1",
    ),
    (
        "How many singers have two songs?",
        f"SELECT count(*) FROM (SELECT a.name {SONGS} GROUP BY a.name HAVING count(*) = 2)",
    ),
]
NONE = [
    f"SELECT a.id, a.name, count(*) {SONGS} GROUP BY a.id, a.name",
    f"SELECT a.name, count(*) {SONGS} GROUP BY b.singer_id, a.name",
    f"SELECT a.name, count(*) {SONGS} GROUP BY b.id, a.name",  # a song has one singer
    f"SELECT a.town, count(*) {SONGS} GROUP BY a.town",  # no name
    "SELECT name, count(*) FROM singer GROUP BY name",  # asks for the names themselves
    f"SELECT a.name {SONGS} GROUP BY a.name",  # as DISTINCT
    "SELECT a.title, count(*) FROM song AS a JOIN singer AS b ON b.id = a.singer_id GROUP BY 1",
]


@pytest.mark.parametrize(("text", "sql"), FOUND)
def test_groups_of_singers_of_one_name_are_found(world, text, sql):
    evidence = world.ask(find_group_by_non_key, text, sql).evidence
    assert evidence["kind"] == "in_data"
    assert evidence["grouped_by"] == ["singer.name"]
    assert evidence["key"] == "singer.id"
    assert evidence["groups"] == [["Ana Bell", 2]]


@pytest.mark.parametrize("sql", NONE)
def test_groups_by_keys_and_classes_are_no_finding(world, sql):
    assert world.ask(find_group_by_non_key, "How many songs are there?", sql) is None


def test_names_that_nobody_shares_yet_are_possible(world):
    sql = f"SELECT a.name, count(*) {CONCERTS} GROUP BY a.name"
    found = world.ask(find_group_by_non_key, "How many concerts were in each venue?", sql)
    assert found.evidence == {
        "kind": "possible",
        "grouped_by": ["venue.name"],
        "key": "venue.id",
        "groups": [],
    }


def test_question_for_each_name_asks_for_groups_of_one_name(world):
    sql = f"SELECT a.name, count(*) {CONCERTS} GROUP BY a.name"
    assert world.ask(find_group_by_non_key, "Count the concerts for each venue name.", sql) is None
