"""Audit of one query: it is executed again, and every probe looks at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot.errors import SqlglotError

from answerkey.audit.bare_columns import find_bare_column
from answerkey.audit.inspection import Inspection
from answerkey.audit.numeric_text import find_numeric_text_order
from answerkey.audit.order_probes import is_order_certain, read_order
from answerkey.audit.row_order import compare_row_orders
from answerkey.audit.shuffles import Shuffles
from answerkey.audit.soundness_probes import SOUNDNESS_PROBES
from answerkey.audit.worth_probes import (
    find_boolean_answer,
    find_guessable,
    find_many_rows,
    find_too_large,
)
from answerkey.core.findings import Finding, encode_findings
from answerkey.core.reasons import Flag
from answerkey.sql.features import has_top_level_order
from answerkey.sql.parser import parse_sql
from answerkey.sqlite.answers import answer_rows, answers_match, shape_answer
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from answerkey.sqlite.schema import Schema


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From where on an answer is remarkable.

    max_rows, max_bytes: rows of the answer, bytes of its JSON.
    min_guess_score: the share of trivial queries that must give the answer.
    rel_tol: relative tolerance between floats.
    shuffles: on how many copies of a database with shuffled rows a query runs at most.
    max_shuffled_bytes: a larger table is not copied, only scanned backwards.
    """

    max_rows: int
    max_bytes: int
    min_guess_score: float
    rel_tol: float
    shuffles: int
    max_shuffled_bytes: int


def audit_query(
    database: GuardedDatabase,
    shuffles: Shuffles,
    gold_sql: str,
    gold_answer: Any,
    *,
    schema: Schema,
    thresholds: Thresholds,
) -> dict[str, Any]:
    """`flags`, a list of {code, evidence}, and `order_matters`: whether the rows of the answer come
    in an order that a correct answer must keep."""
    try:
        tree = parse_sql(gold_sql)
    except (SqlglotError, RecursionError):
        return _report([], order_matters=False)  # parse_gold_sql has set the question aside
    try:
        inspection = Inspection(gold_sql, tree, schema, answer_rows(gold_answer), database)
        return _ask_probes(inspection, shuffles, thresholds)
    except RecursionError:
        unknown = Finding(Flag.NOT_REPRODUCIBLE, {"second_run": "nested too deeply to be audited"})
        return _report([unknown], order_matters=False)


def _ask_probes(
    inspection: Inspection, shuffles: Shuffles, thresholds: Thresholds
) -> dict[str, Any]:
    is_ordered = has_top_level_order(inspection.tree)
    rel_tol = thresholds.rel_tol
    order = read_order(inspection, rel_tol=rel_tol)
    order_matters = is_order_certain(inspection.tree, order.findings)
    row_order = compare_row_orders(
        inspection,
        shuffles,
        is_ordered=order_matters,
        is_settled=order.is_settled,
        rel_tol=rel_tol,
    )
    if not order.is_repeated and not row_order.is_repeated:
        finding = find_not_reproducible(inspection, is_ordered=is_ordered, rel_tol=rel_tol)
        if finding is not None:
            return _report([finding], order_matters=is_ordered)
    findings = [
        *order.findings,
        row_order.finding,
        # Rows that are proven to be fixed have no bare column among them.
        None
        if row_order.is_proven
        else find_bare_column(inspection, is_ordered=order_matters, rel_tol=rel_tol),
        find_numeric_text_order(inspection, rel_tol=rel_tol),
        *(probe(inspection) for probe in SOUNDNESS_PROBES.values()),
        find_boolean_answer(inspection),
        find_guessable(inspection, min_score=thresholds.min_guess_score),
        find_many_rows(inspection, max_rows=thresholds.max_rows),
        find_too_large(inspection, max_bytes=thresholds.max_bytes),
    ]
    found = [finding for finding in findings if finding is not None]
    return _report(found, order_matters=order_matters)


def find_not_reproducible(
    inspection: Inspection, *, is_ordered: bool, rel_tol: float = 1e-6
) -> Finding | None:
    """not_reproducible: executed again, the query fails or gives another answer."""
    answer = shape_answer(inspection.rows)
    try:
        second = shape_answer(inspection.database.execute(inspection.sql))
    except QueryError as error:
        return Finding(Flag.NOT_REPRODUCIBLE, {"second_run": str(error)})
    if answers_match(answer, second, ordered=is_ordered, rel_tol=rel_tol):
        return None
    return Finding(Flag.NOT_REPRODUCIBLE, {"second_run": repr(second)[:200]})


def _report(findings: list[Finding], *, order_matters: bool) -> dict[str, Any]:
    return {"flags": encode_findings(findings), "order_matters": order_matters}
