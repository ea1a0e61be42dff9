"""Tables whose rows lie in an order that answers may show."""

NUMBERS = ", ".join(f"({n}, 'n{n}', {n % 3}, {n}.1)" for n in range(60))
WORLD = f"""
CREATE TABLE plain (n INT, name TEXT, part INT, x REAL);
INSERT INTO plain VALUES {NUMBERS};
CREATE TABLE keyed (n INTEGER PRIMARY KEY, name TEXT, part INT, x REAL);
INSERT INTO keyed VALUES {NUMBERS};
CREATE VIEW seen AS SELECT * FROM plain;
CREATE VIEW twice AS SELECT * FROM seen;
CREATE VIEW numbered AS SELECT oid AS number FROM keyed;
CREATE TABLE ordered (
    part INT, n INT, name TEXT COLLATE NOCASE UNIQUE, PRIMARY KEY (part, n)
) WITHOUT ROWID;
INSERT INTO ordered SELECT part, n, name FROM plain;
CREATE TABLE words (word TEXT UNIQUE);
INSERT INTO words SELECT name FROM plain;
CREATE TABLE mixed (label TEXT COLLATE NOCASE);
INSERT INTO mixed VALUES ('a'), ('A'), ('b'), ('B'), ('c'), ('C'), ('d'), ('D'), ('e'), ('E');
CREATE TABLE untyped (v);
INSERT INTO untyped VALUES (1), (1.0), (1), (1.0), (1), (1.0), (1), (1.0), (1), (1.0);
"""
