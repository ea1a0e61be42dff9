"""set_operation_on_non_key: things that are compared by their names."""

import pytest

from answerkey.probes.sets import find_set_operation_on_non_key
from tests.shared.choir_world import WORLD
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("sets"), WORLD) as world:
        yield world


SONGS = "FROM singer AS a JOIN song AS b ON a.id = b.singer_id"
CONCERTS = "FROM venue AS a JOIN concert AS b ON a.id = b.venue_id"

KINDS = [
    # the other Ana Bell has no French song
    (f"SELECT name FROM singer EXCEPT SELECT a.name {SONGS} WHERE language = 'French'", "in_data"),
    (
        f"SELECT a.name {SONGS} WHERE title = 'Noon' INTERSECT"
        f" SELECT a.name {SONGS} WHERE language = 'French'",
        "in_data",
    ),
    (f"SELECT town FROM singer WHERE name IN (SELECT a.name {SONGS} WHERE sales > 8)", "in_data"),
    (f"SELECT name FROM singer EXCEPT SELECT a.name {SONGS}", "people"),
    (f"SELECT first_name FROM singer EXCEPT SELECT a.first_name {SONGS}", "part_of_name"),
    (
        f"SELECT first_name FROM singer WHERE fee = 30 INTERSECT SELECT a.first_name {SONGS}",
        "part_of_name",
    ),
    (f"SELECT name FROM venue EXCEPT SELECT a.name {CONCERTS}", "others"),
    (f"SELECT name, seats FROM venue EXCEPT SELECT a.name, a.seats {CONCERTS}", "others"),
    (
        f"SELECT a.name {SONGS} WHERE sales < 5 INTERSECT SELECT a.name {SONGS} WHERE sales = 4",
        "others",
    ),
    (f"SELECT seats FROM venue WHERE name NOT IN (SELECT a.name {CONCERTS})", "in_list"),
    (f"SELECT count(*) FROM (SELECT name FROM venue EXCEPT SELECT a.name {CONCERTS})", "others"),
]
NONE = [
    f"SELECT id, name FROM singer EXCEPT SELECT a.id, a.name {SONGS}",
    "SELECT name FROM singer WHERE id NOT IN (SELECT singer_id FROM song)",
    f"SELECT town FROM singer EXCEPT SELECT a.town {SONGS}",  # towns are asked for
    "SELECT name FROM singer INTERSECT SELECT name FROM venue",  # things of two tables
    "SELECT name FROM singer WHERE town = 'Bath' EXCEPT SELECT name FROM singer WHERE fee > 10",
    "SELECT name FROM singer WHERE fee > 10 INTERSECT SELECT name FROM singer WHERE fee < 30",
    "SELECT name FROM singer UNION SELECT name FROM venue",
    "SELECT name FROM singer WHERE name IN ('Cy Dunn')",
    "SELECT id FROM singer a WHERE name IN (SELECT name FROM singer b WHERE b.id <> a.id)",
]


@pytest.mark.parametrize(("sql", "kind"), KINDS)
def test_comparison_by_name_is_found(world, sql, kind):
    assert world.find(find_set_operation_on_non_key, sql).evidence["kind"] == kind


@pytest.mark.parametrize("sql", NONE)
def test_comparison_by_key_or_of_classes_is_no_finding(world, sql):
    assert world.find(find_set_operation_on_non_key, sql) is None


def test_evidence_shows_the_names_that_differ(world):
    assert world.find(find_set_operation_on_non_key, KINDS[0][0]).evidence == {
        "kind": "in_data",
        "operation": "EXCEPT",
        "columns": ["singer.name"],
        "key": "singer.id",
        "names": [["Ana Bell"]],
    }
