"""Audit of one query: every probe looks at it and at its answer, and at each of its questions."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot.errors import SqlglotError

from answerkey.audit.accepted_rows import find_row_order
from answerkey.audit.inspection import Inspection, Thresholds
from answerkey.audit.registry import ask_probes, ask_question_probes
from answerkey.audit.reordered_copies import ReorderedCopies
from answerkey.core.findings import Finding, encode_findings
from answerkey.core.flags import Flag
from answerkey.english.question import Question
from answerkey.sql.columns import list_columns
from answerkey.sql.parser import TooComplexError, parse_sql
from answerkey.sqlite.answers import answer_rows
from answerkey.sqlite.guard import GuardedDatabase
from answerkey.sqlite.schema import Schema


class QueryAudit(NamedTuple):
    """What the audit says of a query, whatever it is asked for.

    inspection: what probes of its questions look at; None where there is nothing to look at.
    findings: of the probes of the query.
    order_matters: whether the rows of the answer come in an order that a correct answer must keep,
        but for rows that tie.
    accepted_rows: the segments of every right answer, where rows tie and they are known; else None.
    """

    inspection: Inspection | None
    findings: list[Finding]
    order_matters: bool = False
    accepted_rows: list[Any] | None = None


def audit_query(
    database: GuardedDatabase,
    copies: ReorderedCopies,
    gold_sql: str,
    gold_answer: Any,
    *,
    schema: Schema,
    thresholds: Thresholds,
) -> QueryAudit:
    """The audit of a query that has an answer."""
    rows = answer_rows(gold_answer)
    try:
        tree = parse_sql(gold_sql)
    except (SqlglotError, RecursionError):
        return QueryAudit(None, [])  # parse_gold_sql has set the question aside
    try:
        inspection = Inspection(gold_sql, tree, schema, rows, database, copies, thresholds)
        list_columns(inspection.scopes)  # which asks for the columns of every SELECT
        return QueryAudit(inspection, ask_probes(inspection), *find_row_order(inspection))
    except TooComplexError as error:
        return give_up(str(error))
    except RecursionError:
        return give_up("nested too deeply to be audited")


def report_question(audit: QueryAudit, question: Question) -> dict[str, Any]:
    """What the audit says of one of the questions of a query, as its shard holds it.

    flags: a list of {code, evidence}, those of the query and those of the question.
    order_matters, accepted_rows: those of the query.
    """
    findings = list(audit.findings)
    if audit.inspection is not None:
        try:
            findings += ask_question_probes(audit.inspection, question)
        except RecursionError:
            return report_question(give_up("nested too deeply to be audited"), question)
    return {
        "flags": encode_findings(findings),
        "order_matters": audit.order_matters,
        "accepted_rows": audit.accepted_rows,
    }


def give_up(why: str) -> QueryAudit:
    """The audit of a query that the probes could not look at."""
    return QueryAudit(None, [Finding(Flag.NOT_REPRODUCIBLE, {"second_run": why})])
