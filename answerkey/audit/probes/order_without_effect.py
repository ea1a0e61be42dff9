"""order_without_effect: ORDER BY or LIMIT on a SELECT that has one row."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql


def find_order_without_effect(inspection: Inspection) -> list[Finding]:
    """A finding where a SELECT that aggregates without GROUP BY is sorted or cut.

    `SELECT avg(weight) FROM ship ORDER BY year DESC LIMIT 1` is the average of all ships: LIMIT
    counts the rows of the answer, not those that are averaged. `SELECT max(weight) FROM ship
    LIMIT 1` is right as it stands: no finding without ORDER BY, or LIMIT above 1.
    """
    scopes = inspection.scopes
    for select in scopes.nodes.find_all(exp.Select):
        order, limit = select.args.get("order"), select.args.get("limit")
        if order is None and (limit is None or limit.expression.name == "1"):
            continue
        if is_one_row(select, scopes):
            parts = [show_sql(part) for part in (order, limit) if part is not None]
            kind = "order" if order is not None else "limit"
            return [Finding(Flag.ORDER_WITHOUT_EFFECT, {"kind": kind, "without_effect": parts})]
    return []
