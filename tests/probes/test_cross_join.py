"""cross_join: tables that nothing joins."""

import pytest

from answerkey.probes.joins import find_cross_join
from tests.shared.probe_world import ProbeWorld

# Ports, ships and visits, with keys that some of their joins are not on.
WORLD = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE ship (
    hull INTEGER PRIMARY KEY, name TEXT, home INTEGER REFERENCES port(id), country TEXT, crew INT
);
CREATE TABLE visit (ship INTEGER REFERENCES ship(hull), port INTEGER REFERENCES port, day TEXT);
CREATE TABLE repair (ship INTEGER REFERENCES ship(hull), cost INTEGER, place TEXT);
CREATE VIEW visitor AS SELECT ship, day FROM visit;
INSERT INTO port VALUES (1, 'Alda', 'NL'), (2, 'Bree', 'BE'), (3, 'Cove', 'IE');
INSERT INTO ship VALUES
    (101, 'Sun', 1, 'NL', 9), (102, 'Tern', 2, 'BE', 8), (103, 'Wren', 9, 'IE', 7);
INSERT INTO visit VALUES (101, 2, 'd1'), (102, 3, 'd2'), (103, 1, 'd3');
INSERT INTO repair VALUES (900, 70, 'x'), (901, 50, 'y');
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("joins"), WORLD) as world:
        yield world


PRODUCTS = [
    "SELECT ship.name FROM ship, port",
    "SELECT count(*) FROM ship JOIN port",
    "SELECT count(*) FROM ship AS T1 JOIN port AS T2 WHERE T1.crew > 8 OR T1.crew < 2",
    "SELECT 1 FROM ship T1 JOIN visit T2 ON T1.hull = T2.ship JOIN port T3 ON T2.ship = T2.ship",
    "SELECT T1.name FROM ship T1 JOIN port T2 ON T1.hull = T1.hull WHERE T2.name = 'Alda'",
    "SELECT count(*) FROM ship LEFT JOIN port ON 1 = 1",
    "SELECT count(*) FROM (SELECT hull FROM ship) AS a, (SELECT id FROM port) AS b",
    "WITH a AS (SELECT hull FROM ship) SELECT count(*) FROM a, port",
    "SELECT name FROM port UNION SELECT ship.name FROM ship, port",
    "SELECT count(*) FROM ship NATURAL JOIN repair",  # no name in common
    "SELECT count(*) FROM ship a, ship b WHERE a.name = 'x.b'",
    "SELECT count(*) FROM ship, port WHERE ship.name = 'port.id = ship.home'",
    "SELECT count(*) FROM ship, port WHERE ship.home IN (SELECT id FROM port)",
    "SELECT count(*) FROM visitor, port",
]

JOINED = [
    "SELECT ship.name FROM ship, port WHERE ship.home = port.id",
    "SELECT ship.name FROM ship JOIN port ON home = id",
    "SELECT ship.name FROM ship JOIN port ON (ship.crew > 1 AND (port.id = ship.home))",
    "SELECT 1 FROM visit JOIN repair USING (ship)",
    "SELECT 1 FROM visit NATURAL JOIN repair",
    "SELECT 1 FROM ship a, ship b WHERE a.crew > b.crew",
    "SELECT 1 FROM ship, port, visit WHERE ship.hull = visit.ship AND visit.port = port.id",
    "SELECT 1 FROM ship, port WHERE EXISTS (SELECT 1 FROM visit WHERE ship = hull AND port = id)",
    "SELECT 1 FROM ship CROSS JOIN port",
    "SELECT crew - n FROM ship, (SELECT avg(crew) AS n FROM ship)",
    "WITH m AS (SELECT max(crew) AS n FROM ship) SELECT name FROM ship, m WHERE n > 1",
    "SELECT a.crew - b.crew FROM ship a, ship b WHERE a.hull = 101 AND b.hull = 102",
    "SELECT 1 FROM ship a LEFT JOIN port b ON a.home = b.id OR a.name = b.name",
    "SELECT 1 FROM (ship JOIN port ON ship.home = port.id) JOIN visit ON visit.port = port.id",
    "SELECT 1 FROM repair JOIN (visit JOIN port ON visit.port = port.id) USING (ship)",
    "SELECT name FROM ship WHERE home IN (SELECT id FROM port)",
    "SELECT (SELECT count(*) FROM ship) - (SELECT count(*) FROM port)",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
]


@pytest.mark.parametrize("sql", PRODUCTS)
def test_tables_that_nothing_joins_are_found(world, sql):
    assert world.find(find_cross_join, sql) is not None


@pytest.mark.parametrize("sql", JOINED)
def test_tables_that_something_joins_are_no_finding(world, sql):
    assert world.find(find_cross_join, sql) is None


def test_evidence_of_a_product_names_its_sources(world):
    finding = world.find(find_cross_join, "SELECT 1 FROM ship AS s JOIN port AS p")
    assert finding.evidence == {"sources": ["s", "p"]}
