"""join_not_on_key: columns that are equated, and have nothing to do with each other."""

import pytest

from answerkey.probes.joins import find_join_not_on_key
from tests.shared.join_world import WORLD
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("joins"), WORLD) as world:
        yield world


OFF_KEY = [
    "SELECT 1 FROM ship JOIN port ON ship.hull = port.id",
    "SELECT 1 FROM ship AS a JOIN port AS b ON b.id = a.HULL",
    "SELECT 1 FROM ship, port WHERE ship.hull = port.id",
    "SELECT 1 FROM ship JOIN port USING (name)",
    "SELECT 1 FROM ship NATURAL JOIN port",  # name and country
    "SELECT 1 FROM ship JOIN port ON ship.country = port.name",
    "SELECT name FROM ship WHERE hull IN (SELECT id FROM port)",
    "SELECT name FROM ship WHERE hull = (SELECT port FROM visit)",
    "SELECT name FROM ship WHERE EXISTS (SELECT 1 FROM port WHERE port.id = ship.hull)",
    "WITH p AS (SELECT id AS key FROM port) SELECT 1 FROM ship JOIN p ON ship.hull = p.key",
    "SELECT name FROM port UNION SELECT 'x' FROM ship JOIN port ON hull = id",
]

ON_KEY = [
    "SELECT 1 FROM ship JOIN port ON ship.home = port.id",
    "SELECT 1 FROM port JOIN ship ON PORT.ID = SHIP.HOME",
    "SELECT 1 FROM ship JOIN visit ON ship.home = visit.port",  # both refer to port
    "SELECT 1 FROM visit JOIN repair ON visit.ship = repair.ship",  # declared, if without a match
    "SELECT 1 FROM visit JOIN repair USING (ship)",
    "SELECT 1 FROM visit JOIN port ON visit.port = port.id",  # REFERENCES port, without a column
    "SELECT 1 FROM ship JOIN port ON ship.country = port.country",  # no key, but the same values
    "SELECT 1 FROM ship a JOIN ship b ON a.crew = b.crew",
    "SELECT 1 FROM settings JOIN port ON settings.port = port.id",
    "SELECT 1 FROM vacant JOIN port ON vacant.name = port.name",  # no value says nothing
    "SELECT 1 FROM ship NATURAL JOIN repair",  # no name in common
    "SELECT 1 FROM ship JOIN (SELECT name FROM port) USING (name)",
    "SELECT 1 FROM ship JOIN port ON ship.hull > port.id",
    "SELECT 1 FROM ship WHERE name = 'ship.hull = port.id'",
    "SELECT 1 FROM ship JOIN port ON ship.hull - 100 = port.id",
    "SELECT name FROM ship WHERE crew = (SELECT max(id) FROM port)",
]


@pytest.mark.parametrize("sql", OFF_KEY)
def test_join_on_unrelated_columns_is_found(world, sql):
    assert world.find(find_join_not_on_key, sql) is not None


@pytest.mark.parametrize("sql", ON_KEY)
def test_join_on_related_columns_is_no_finding(world, sql):
    assert world.find(find_join_not_on_key, sql) is None


def test_evidence_of_a_join_names_columns_and_their_share(world):
    sql = "SELECT 1 FROM ship AS s JOIN port AS p ON s.hull = p.id"
    assert world.find(find_join_not_on_key, sql).evidence == {
        "joins": [{"condition": "s.hull = p.id", "columns": ["ship.hull", "port.id"], "share": 0.0}]
    }


def test_columns_that_share_one_value_in_twenty_are_related_by_more(tmp_path):
    numbers = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 20)"
    sql = f"CREATE TABLE a (x INT); {numbers} INSERT INTO a SELECT i FROM n;"
    for table, first in (("b", 20), ("c", 19)):
        sql += f"CREATE TABLE {table} (y INT);"
        sql += f"{numbers} INSERT INTO {table} SELECT i + {first - 1} FROM n;"
    with ProbeWorld(tmp_path, sql) as world:
        shares = [
            world.find(find_join_not_on_key, f"SELECT 1 FROM a JOIN {table} ON a.x = {table}.y")
            for table in "bc"
        ]
    assert [found and found.evidence["joins"][0]["share"] for found in shares] == [0.05, None]
