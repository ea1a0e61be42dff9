"""null_dropped: a condition says what a value must not be, and drops the rows that have none."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Comparison, read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sqlite.schema import quote_name


def find_null_dropped(inspection: Inspection) -> list[Finding]:
    """A finding for `port != 'Aberdeen'`, where some rows have NULL for a port: they are not in
    Aberdeen, and the condition does not hold for them either."""
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        base = reading.base_column(comparison.left)
        if base is None or not reading.is_literal(comparison.right) or not _is_denial(comparison):
            continue
        table, column = base[0].name, quote_name(base[1].name)
        nulls = reading.values.ask_number(
            f"SELECT count(*) FROM {quote_name(table)} WHERE {column} IS NULL"
        )
        if nulls:
            evidence = {"condition": comparison.text, "rows": nulls}
            return [Finding(Flag.NULL_DROPPED, evidence)]
    return []


def _is_denial(comparison: Comparison) -> bool:
    if comparison.operator == "!=":
        return True
    node = comparison.node
    is_negated = isinstance(node.parent, exp.Not) or bool(node.args.get("negate"))
    return is_negated and comparison.operator in ("=", "LIKE")
