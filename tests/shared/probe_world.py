"""A database made from SQL text, and questions put to it as the audit puts them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlglot import parse_one

from answerkey.base.records import Finding
from answerkey.english.question import Question
from answerkey.order.inspection import AnswerBounds, Inspection, ReorderedCopy
from answerkey.sqlite.executions import Executions
from answerkey.sqlite.guard import GuardedDatabase, Row
from answerkey.sqlite.schema import Schema, read_schema


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
        """Meanwhile, probes have a copy with the rows in the reverse order."""
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
