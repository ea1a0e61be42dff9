"""A database made from SQL text, and questions put to it as the audit puts them."""

import sqlite3
from pathlib import Path

from sqlglot import parse_one

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
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

    def __enter__(self) -> "ProbeWorld":
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def inspect(self, sql: str) -> Inspection:
        rows = self.database.execute(sql)  # a case that SQLite refuses proves nothing
        return Inspection(sql, parse_one(sql, read="sqlite"), self.schema, rows, self.database)

    def find(self, probe, sql: str, **options) -> Finding | None:
        inspection = self.inspect(sql)
        before = inspection.tree.sql("sqlite")
        finding = probe(inspection, **options)
        assert inspection.tree.sql("sqlite") == before, "a probe must not change the tree"
        return finding
