"""Singers, songs, venues and concerts: some singers share a name, some have no song."""

WORLD = """
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
CREATE TABLE prize (id INTEGER PRIMARY KEY, singer_id INT REFERENCES singer, amount INT);
INSERT INTO prize VALUES (1, 1, 100), (2, 1, 200), (3, 3, 300);
CREATE TABLE membership (singer_id INT REFERENCES singer, venue_id INT REFERENCES venue,
  PRIMARY KEY (singer_id, venue_id));
INSERT INTO membership VALUES (1, 1), (1, 2), (3, 1);
"""
