"""Inspection of one question: what a probe may look at."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import GuardedDatabase, Row
from answerkey.sqlite.schema import Schema


@dataclass(slots=True)
class Inspection:
    """One gold query that ran: its text and tree (never to be changed: copy it), the schema, the
    rows that it returned, the database for evidence, under the same guard, and what its names stand
    for, worked out once for all probes."""

    sql: str
    tree: exp.Expression
    schema: Schema
    rows: list[Row]
    database: GuardedDatabase
    scopes: Scopes = field(init=False)

    def __post_init__(self) -> None:
        self.scopes = Scopes(self.tree, self.schema)
