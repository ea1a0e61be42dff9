"""A database made from SQL text, and questions put to it as the audit puts them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlglot import parse_one

from answerkey.base.records import Finding
from answerkey.engines.database import Row
from answerkey.engines.executions import Executions
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.english.question import Question
from answerkey.order.inspection import AnswerBounds, Inspection, ReorderedCopy


class ProbeWorld:
    """One small database, to be used as a context manager; `inspect` runs gold SQL on it."""

    def __init__(self, folder: Path, sql: str) -> None:
        path = folder / "world.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        self.schema: Schema = read_schema(connection)
        connection.close()
        self.database = GuardedDatabase(path)
        self.real = Executions(self.database)
        self.copy: ReorderedCopy | None = None

    def __enter__(self) -> "ProbeWorld":
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    @contextmanager
    def copied(self, **options) -> Iterator[ReorderedCopy]:
        """Meanwhile, doubts have a copy with the rows in the reverse order."""
        with ReorderedCopy(self.database.path, **options) as self.copy:
            yield self.copy
        self.copy = None

    def inspect(self, sql: str, **thresholds) -> Inspection:
        rows = self.database.execute(sql)  # a case that SQLite refuses proves nothing
        tree = parse_one(sql, read="sqlite")
        terms = AnswerBounds(**thresholds)
        return Inspection(sql, tree, self.schema, rows, self.real, self.copy, terms)

    def find_all(self, probe, sql: str, **thresholds) -> list[Finding]:
        inspection = self.inspect(sql, **thresholds)
        before = inspection.tree.sql("sqlite")
        findings = probe(inspection)
        assert inspection.tree.sql("sqlite") == before, "a probe must not change the tree"
        return findings

    def find(self, probe, sql: str, **thresholds) -> Finding | None:
        findings = self.find_all(probe, sql, **thresholds)
        assert len(findings) < 2
        return findings[0] if findings else None

    def ask(self, probe, text: str, sql: str, *, evidence: str | None = None) -> Finding | None:
        """What a probe of the query against its question finds."""
        question = Question(text, evidence)
        findings = self.find_all(lambda inspection: probe(inspection, question), sql)
        assert len(findings) < 2
        return findings[0] if findings else None

    def execute_repair(self, probe, sql: str, question: str | None = None) -> list[Row] | None:
        """The rows of the repair of a finding; None if it has none."""
        finding = self.find(probe, sql) if question is None else self.ask(probe, question, sql)
        assert finding is not None
        repair = finding.evidence.get("repair")
        return self.database.execute(repair) if repair is not None else None


# Ports, ships with numbers of all kinds, and visits.
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

# Some singers share a name, and some have no song.
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

# Names are no keys, days are texts in several forms, and one farm has no cow.
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

DATABASES = {"choir": CHOIR, "farm": FARM, "harbour": HARBOUR}
