"""The audit: all doubts of a query and its questions, and what their repairs answer."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from sqlglot.errors import SqlglotError

from answerkey.alternatives.readings import list_readings
from answerkey.base.records import (
    Finding,
    decode_json,
    encode_compactly,
    encode_findings,
    read_json,
)
from answerkey.doubts.catalogue import DOUBTS
from answerkey.doubts.repairs import Gold, Repair, Tried, try_alternatives
from answerkey.engines.answers import answer_rows, has_choice, read_order
from answerkey.engines.database import Limits
from answerkey.engines.executions import Executions
from answerkey.engines.names import name_engine
from answerkey.engines.opening import open_database
from answerkey.engines.schema import Schema
from answerkey.english.question import EMPTY_WORDS, Question, list_words
from answerkey.order.additions import find_abs_tol
from answerkey.order.inspection import AnswerBounds, Inspection, ReorderedCopy
from answerkey.order.row_order import OtherOrder, Segment, find_other_order, find_row_order
from answerkey.rewrites.trees import Change
from answerkey.sections.audit_gold_answers import Thresholds
from answerkey.shards.database_files import local_path
from answerkey.shards.runs import QueryTask
from answerkey.sql.query_tree import TooComplexError, parse_sql, speaking

_TOO_DEEP = "nested too deeply to be audited"

Others = tuple[tuple[str, str], ...]  # other right queries, and their answers as JSON
# Gold SQL, its answer as JSON, question, evidence, and what else is right.
Query = tuple[str, str, str, str | None, Others]


def make_query(record: Mapping[str, Any], outcome: Mapping[str, Any]) -> Query:
    """Return what is audited of a question, from its record and that of its answer."""
    others = tuple(
        (other["sql"], encode_compactly(other["answer"]))
        for other in outcome.get("other_answers", ())
    )
    asked = record["question_text"], record.get("evidence")
    return (record["gold_sql"], encode_compactly(outcome["gold_answer"]), *asked, others)


# The last: what columns mean, and what the clock says.
Context = tuple[Schema, Limits, Thresholds, dict[str, str], str | None]


class QueryAudit(NamedTuple):
    """The audit of a query, for all questions that have it.

    inspection: what doubts of its questions look at; None: there is nothing to look at.
    order_matters: whether the rows of the answer come in an order that a correct answer must keep,
        but for rows that tie.
    accepted_rows: the segments of every right answer, where rows tie and they are known; else None.
    abs_tol: how far floats of right answers may be apart whatever their size.
    """

    inspection: Inspection | None
    findings: list[Finding]
    order_matters: bool = False
    accepted_rows: Sequence[Segment] | None = None
    abs_tol: float = 0.0


class AuditReport(TypedDict):
    """The audit of one question of a query, as its shard holds it.

    flags: {code, evidence} of each finding, those of the query first.
    order_matters, accepted_rows: as in QueryAudit.
    repairs: the queries that the question may ask for more likely, and what they answer.
    readings: the rule and the SQL of each reading of the question that has gold's answer.
    abs_tol: as in QueryAudit; there if it is not 0.
    other_orders: by the SQL of other right queries, how far the sequence of their rows counts;
        there if an engine's plans decide about the sequence of one.
    """

    flags: list[dict[str, Any]]
    order_matters: bool
    accepted_rows: Sequence[Segment] | None
    repairs: list[Repair]
    readings: list[Change]
    abs_tol: NotRequired[float]
    other_orders: NotRequired[dict[str, OtherOrder]]


def audit_query(
    real: Executions,
    copy: ReorderedCopy,
    gold_sql: str,
    gold_answer: Any,
    *,
    schema: Schema,
    thresholds: Thresholds,
) -> QueryAudit:
    """Return the audit of a query that has an answer.

    real: its database.
    """
    rows = answer_rows(gold_answer)
    try:
        tree = parse_sql(gold_sql)
    except (SqlglotError, RecursionError):
        return QueryAudit(None, [])  # parse_gold_sql has set the question aside
    try:
        bounds = AnswerBounds(thresholds.max_rows, thresholds.max_bytes, thresholds.rel_tol)
        inspection = Inspection(gold_sql, tree, schema, rows, real, copy, bounds)
        inspection.scopes.refuse_wide_selects()
        abs_tol = find_abs_tol(inspection)
        inspection.bounds = replace(bounds, abs_tol=abs_tol)
        findings = []
        for doubt in DOUBTS:
            if doubt.find_in_query is not None:
                findings += doubt.find_in_query(inspection)
        return QueryAudit(inspection, findings, *find_row_order(inspection), abs_tol)
    except TooComplexError as error:
        return give_up(str(error))
    except RecursionError:
        return give_up(_TOO_DEEP)


def report_question(audit: QueryAudit, question: Question) -> AuditReport:
    """Return the audit of one question of a query."""
    inspection, findings = audit.inspection, list(audit.findings)
    if inspection is None:
        return _make_report(audit, Tried(findings, [], []))
    try:
        if question.words:
            for doubt in DOUBTS:
                if doubt.find_in_question is not None:
                    findings += doubt.find_in_question(inspection, question)
        read = partial(_read, inspection, question)
        accepted_rows = audit.accepted_rows if has_choice(audit.accepted_rows) else None
        order = read_order(audit.order_matters, audit.accepted_rows)
        gold = Gold(inspection.sql, inspection.rows, order, accepted_rows, audit.abs_tol)
        return _make_report(audit, try_alternatives(findings, read, gold, inspection.real))
    except RecursionError:
        return report_nothing(_TOO_DEEP)


def _read(inspection: Inspection, question: Question, sql: str) -> list[Change]:
    """The readings of a question for a query: gold's, or one that is another already."""
    tree = inspection.tree if sql == inspection.sql else parse_sql(sql)
    text = " ".join(filter(None, (question.text, question.evidence)))
    return list_readings(tree, inspection.schema, text, inspection.real.find_rows)


def report_nothing(why: str) -> AuditReport:
    """The report of a question whose query no doubt could look at."""
    audit = give_up(why)
    return _make_report(audit, Tried(audit.findings, [], []))


def _make_report(audit: QueryAudit, tried: Tried) -> AuditReport:
    report: AuditReport = {
        "flags": encode_findings(tried.findings),
        "order_matters": audit.order_matters,
        "accepted_rows": audit.accepted_rows,
        "repairs": tried.repairs,
        "readings": tried.readings,
    }
    if audit.abs_tol:
        report["abs_tol"] = audit.abs_tol
    return report


def give_up(why: str) -> QueryAudit:
    """The audit of a query that no doubt could look at."""
    return QueryAudit(None, [Finding("not_reproducible", {"second_run": why})])


def audit_task(task: QueryTask[Query, Context]) -> list[AuditReport]:
    """One report a query. Gold SQL that stands beside itself, for other questions, is looked at
    once."""
    schema, limits, thresholds, meanings, now = task.context
    path = local_path(task.find_executed())
    with (
        speaking(name_engine(path)),
        open_database(path, limits, now=now) as database,
        ReorderedCopy(path, limits, now=now) as copy,
    ):
        real = Executions(database)

        @lru_cache(maxsize=1)
        def audit(gold_sql: str, answer: str) -> QueryAudit:
            return audit_query(
                real, copy, gold_sql, decode_json(answer), schema=schema, thresholds=thresholds
            )

        def report(query: Query) -> AuditReport:
            gold_sql, answer, text, evidence, others = query
            question = Question(text, evidence, meanings)
            report = report_question(audit(gold_sql, answer), question)
            if orders := dict(list_other_orders(others)):
                report["other_orders"] = orders
            return report

        def list_other_orders(others: Others) -> Iterator[tuple[str, OtherOrder]]:
            for sql, answer in others:
                rows = answer_rows(decode_json(answer))
                with contextlib.suppress(SqlglotError, RecursionError):
                    inspection = Inspection(sql, parse_sql(sql), schema, rows, real, copy)
                    if order := find_other_order(inspection):
                        yield sql, order

        return task.map_queries(report)


def read_meanings(path: Path) -> dict[str, str]:
    """Return the words that the corpus has for columns, by their names in small letters, without
    those that name nothing; columns of one name share their words. {} if there is no such file."""
    words: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for columns in read_json(path).values() if path.is_file() else ():
        for column, texts in columns.items():
            text = f"{texts.get('name', '')} {texts.get('description', '')}"
            said = (word.text for word in list_words(text))
            words[column.lower()] |= dict.fromkeys(word for word in said if word not in EMPTY_WORDS)
    return {column: " ".join(own_words) for column, own_words in words.items()}
