"""Inspection of one question: what a probe may look at, and what it finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.guard import GuardedDatabase, Row
from stages.reasons import Flag
from stages.schema import Schema

if TYPE_CHECKING:  # a stage that only encodes findings parses nothing
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class Finding:
    """A flag, and evidence that a person can check: a JSON object with stable keys."""

    code: Flag
    evidence: dict[str, Any]


@dataclass(slots=True)
class Inspection:
    """One gold query that ran: its text and tree (never to be changed: copy it), the schema, the
    rows that it returned, and the database for evidence, under the same guard."""

    sql: str
    tree: exp.Expression
    schema: Schema
    rows: list[Row]
    database: GuardedDatabase


def encode_findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings as audit.jsonl has them: {code, evidence}, in the order of the vocabulary."""
    order = list(Flag)
    ranked = sorted(findings, key=lambda finding: order.index(finding.code))
    return [{"code": str(found.code), "evidence": found.evidence} for found in ranked]
