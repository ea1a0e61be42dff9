"""Questions for suites, with the readings that an audit finds."""

from __future__ import annotations

from typing import Any

from answerkey.alternatives.readings import list_readings
from answerkey.doubts.repairs import Gold, try_alternatives
from answerkey.engines.answers import Order
from answerkey.engines.executions import Executions
from answerkey.engines.schema import Schema
from answerkey.sql.query_tree import parse_sql
from answerkey.suites.questions import SuiteQuestion


def ask(
    question_id: str,
    text: str,
    gold_sql: str,
    schema: Schema,
    real: Executions,
    *,
    order: Order | None = None,
    accepted_rows: list[Any] | None = None,
    accepts_subset: bool = False,
    model_queries: tuple[str, ...] = (),
) -> SuiteQuestion:
    """A question of a database, with those of its readings that have gold's answer there."""
    gold_order = "ORDER BY" in gold_sql if order is None else order
    rows = real.find_rows(gold_sql)
    readings = list_readings(parse_sql(gold_sql), schema, text, real.find_rows)
    known = {gold_sql: readings if rows is not None else []}
    gold = Gold(gold_sql, rows or [], gold_order, accepted_rows)
    tried = try_alternatives([], lambda sql: known.get(sql, []), gold, real)
    return SuiteQuestion(
        question_id,
        gold_sql,
        gold_order,
        accepted_rows,
        accepts_subset,
        model_queries=model_queries,
        readings=tuple(tried.readings),
    )
