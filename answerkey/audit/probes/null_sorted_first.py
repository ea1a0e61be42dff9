"""null_sorted_first: the least is asked for, and a row without a value comes first.

SQLite sorts NULL before all other values (its manual's page on SELECT, section 4).
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql, to_sql


def find_null_sorted_first(inspection: Inspection) -> list[Finding]:
    """A finding for `SELECT name FROM ship ORDER BY weight LIMIT 1`, where the first ship has NULL
    for its weight."""
    reading = read_query(inspection)
    for select in reading.scopes.nodes.find_all(exp.Select):
        order = select.args.get("order")
        if order is None or select.args.get("limit") is None or select.args.get("group"):
            continue
        term = order.expressions[0]
        if term.args.get("desc") or not _may_be_null(term.this.unnest(), reading):
            continue
        if _is_first_null(select, term.this, reading):
            evidence = {"sorted_by": show_sql(term)}
            return [Finding(Flag.NULL_SORTED_FIRST, evidence)]
    return []


def _may_be_null(key: exp.Expression, reading: Reading) -> bool:
    base = reading.base_column(key)
    return base is not None and not reading.values.has_no_null(base[0].name, base[1].name)


def _is_first_null(select: exp.Select, key: exp.Expression, reading: Reading) -> bool:
    query = select.copy()
    query.set("expressions", [key.copy()])
    query.set("distinct", None)
    rows = reading.values.ask(to_sql(query))  # None of a subquery that looks at the row around it
    return bool(rows) and rows[0][0] is None
