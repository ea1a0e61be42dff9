"""A database made from SQL text, and questions put to it as the audit puts them."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlglot import parse_one

from answerkey.english.question import Question
from answerkey.order.inspection import Inspection
from answerkey.order.reordered_copy import ReorderedCopy
from answerkey.records import Finding
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.sqlite.guard import GuardedDatabase
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
        terms = Thresholds(**thresholds)
        return Inspection(sql, tree, self.schema, rows, self.database, self.copy, terms)

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
