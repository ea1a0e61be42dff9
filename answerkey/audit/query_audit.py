"""Audit of one query: every probe looks at it and at its answer."""

from __future__ import annotations

from typing import Any

from sqlglot.errors import SqlglotError

from answerkey.audit.accepted_rows import find_accepted_rows
from answerkey.audit.inspection import Inspection, Thresholds
from answerkey.audit.order import is_order_certain
from answerkey.audit.registry import ask_probes
from answerkey.audit.reordered_copies import ReorderedCopies
from answerkey.core.findings import Finding, encode_findings
from answerkey.core.reasons import Flag
from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import answer_rows
from answerkey.sqlite.guard import GuardedDatabase
from answerkey.sqlite.schema import Schema


def audit_query(
    database: GuardedDatabase,
    copies: ReorderedCopies,
    gold_sql: str,
    gold_answer: Any,
    *,
    schema: Schema,
    thresholds: Thresholds,
) -> dict[str, Any]:
    """What the audit says of a query.

    flags: a list of {code, evidence}.
    order_matters: whether the rows of the answer come in an order that a correct answer must keep.
    accepted_rows: the segments of every right answer, where LIMIT cuts through a tie and they are
        known; else None.
    """
    try:
        tree = parse_sql(gold_sql)
    except (SqlglotError, RecursionError):
        return _report([], order_matters=False)  # parse_gold_sql has set the question aside
    rows = answer_rows(gold_answer)
    try:
        inspection = Inspection(gold_sql, tree, schema, rows, database, copies, thresholds)
        return _report(
            ask_probes(inspection),
            order_matters=is_order_certain(inspection),
            accepted_rows=find_accepted_rows(inspection),
        )
    except RecursionError:
        return report_no_audit("nested too deeply to be audited")


def report_no_audit(why: str) -> dict[str, Any]:
    """The report of a query that the probes could not look at."""
    return _report([Finding(Flag.NOT_REPRODUCIBLE, {"second_run": why})], order_matters=False)


def _report(
    findings: list[Finding],
    *,
    order_matters: bool,
    accepted_rows: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    return {
        "flags": encode_findings(findings),
        "order_matters": order_matters,
        "accepted_rows": accepted_rows,
    }
