"""Ports, ships and visits, with keys that some of their joins are not on."""

WORLD = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE ship (
    hull INTEGER PRIMARY KEY, name TEXT, home INTEGER REFERENCES port(id), country TEXT, crew INT
);
CREATE TABLE visit (ship INTEGER REFERENCES ship(hull), port INTEGER REFERENCES port, day TEXT);
CREATE TABLE repair (ship INTEGER REFERENCES ship(hull), cost INTEGER, place TEXT);
CREATE TABLE settings (unit TEXT, port INTEGER);
CREATE TABLE vacant (id INTEGER, name TEXT);
CREATE VIEW visitor AS SELECT ship, day FROM visit;
INSERT INTO port VALUES (1, 'Alda', 'NL'), (2, 'Bree', 'BE'), (3, 'Cove', 'IE');
INSERT INTO ship VALUES
    (101, 'Sun', 1, 'NL', 9), (102, 'Tern', 2, 'BE', 8), (103, 'Wren', 9, 'IE', 7);
INSERT INTO visit VALUES (101, 2, 'd1'), (102, 3, 'd2'), (103, 1, 'd3');
INSERT INTO repair VALUES (900, 70, 'x'), (901, 50, 'y');
INSERT INTO settings VALUES ('metre', 1);
"""
