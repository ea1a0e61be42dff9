"""Databases that the tests of several families of probes ask."""

import pytest

from tests.shared.probe_world import HARBOUR, ProbeWorld

# Some singers share a name, some have no song.
CHOIR = """
CREATE TABLE singer (id INTEGER PRIMARY KEY, name TEXT, first_name TEXT, town TEXT, fee INT);
INSERT INTO singer VALUES
  (1, 'Ana Bell', 'Ana', 'Bath', 10), (2, 'Ana Bell', 'Ana', 'York', 20),
  (3, 'Cy Dunn', 'Cy', 'Bath', 30), (4, 'Eve Finn', 'Eve', 'Bath', 40);
CREATE TABLE song (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, title TEXT,
  language TEXT, sales INT);
INSERT INTO song VALUES (1, 1, 'Dawn', 'French', 5), (2, 1, 'Dusk', 'Welsh', 7),
  (3, 2, 'Noon', 'Welsh', 9), (4, 3, 'Tide', 'French', 4);
CREATE TABLE venue (id INTEGER PRIMARY KEY, name TEXT, seats INT);
INSERT INTO venue VALUES (1, 'Mill', 90), (2, 'Quay', 60), (3, 'Barn', 30);
CREATE TABLE concert (venue_id INT REFERENCES venue, singer_id INT REFERENCES singer, year INT);
INSERT INTO concert VALUES (1, 1, 2020), (1, 1, 2021), (1, 3, 2021), (2, 3, 2020);
CREATE TABLE membership (singer_id INT REFERENCES singer, venue_id INT REFERENCES venue,
  PRIMARY KEY (singer_id, venue_id));
INSERT INTO membership VALUES (1, 1), (1, 2), (3, 1);
"""

# Names are no keys, a day stands as text in several forms, a farm has no cow.
FARM = """
CREATE TABLE farm (id INTEGER PRIMARY KEY, name TEXT, town TEXT, opened TEXT, acres TEXT);
CREATE TABLE cow (
    id INTEGER PRIMARY KEY, name TEXT, colour TEXT, litres INT, age INT, sold_day TEXT,
    bought_day TEXT, farm_id INT REFERENCES farm (id)
);
CREATE TABLE fair (year INT, cow_id INT REFERENCES cow (id), medal TEXT);
INSERT INTO farm VALUES
    (1, 'Moss', 'Alda', '31/1/2001', '95'), (2, 'Reed', 'Brno', '4/12/1999', '1,200'),
    (3, 'Sand', 'Alda', '15/6/2010', '300');
INSERT INTO cow VALUES
    (1, 'Ada', 'red', 20, 5, 's1', 'b1', 1), (2, 'Bea', 'White', 35, 7, 's2', 'b2', 1),
    (3, 'Cia', 'red', 10, 3, 's3', 'b3', 2), (4, 'Dot', NULL, 25, 9, 's4', 'b4', 2);
INSERT INTO fair VALUES
    (2019, 1, 'gold'), (2020, 1, 'none'), (2020, 2, 'gold'), (2021, 3, 'none'), (2022, 2, 'none');
CREATE TABLE herd (no INT, name TEXT, land TEXT);
CREATE TABLE goat (name TEXT, herd INT);
INSERT INTO herd VALUES (1, 'Up', 'a'), (2, 'Up', 'b'), (3, 'Low', 'c');
INSERT INTO goat VALUES ('G', 1), ('H', 2), ('I', 3);
CREATE TABLE trip (id INTEGER PRIMARY KEY, named TEXT, shown TEXT, short TEXT, odd TEXT);
INSERT INTO trip VALUES
    (1, '4-Jun-1999', 'May 4, 2001', '1/2/2003', '1.2.2003'),
    (2, '21-Feb-2003', 'Nov. 11, 1999', '4/3/2002', 'April');
"""


@pytest.fixture(scope="session")
def harbour(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("harbour"), HARBOUR) as world:
        yield world


@pytest.fixture(scope="session")
def choir(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("choir"), CHOIR) as world:
        yield world


@pytest.fixture(scope="session")
def farm(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("farm"), FARM) as world:
        yield world
