"""A small harbour: ports, ships and visits, for probes that read questions."""

HARBOUR = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT, berths INT, depth REAL, opened INT);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, crew INT, age INT, birth_year INT, rank INT,
    gross_tonnage INT, net_tonnage INT, owner TEXT, home INT REFERENCES port (id)
);
CREATE TABLE visit (ship INT REFERENCES ship (id), port INT REFERENCES port (id), day TEXT);
INSERT INTO port VALUES
    (1, 'Alda', 3, 9.5, 1950), (2, 'Brno', 8, 7.5, 1980), (3, 'Cove', 5, 8.0, 1990);
INSERT INTO ship VALUES
    (1, 'Ara', 3, 30, 1994, 2, 500, 300, 'Ito', 1), (2, 'Bee', 9, 20, 2004, 1, 700, 500, NULL, 2),
    (3, 'Cod', 5, 40, 1984, 3, 600, 200, 'Lee', 1);
INSERT INTO visit VALUES (1, 2, '2010-05-01'), (1, 3, '2011-06-01'), (2, 1, '2012-07-01');
"""
