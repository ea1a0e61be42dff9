"""aggregate_of_other_rows: rows of a group are compared with an aggregate of other groups."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Comparison, Reading, read_query
from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_parts import members_of_from


def find_aggregate_of_other_rows(inspection: Inspection) -> list[Finding]:
    """A finding where a subquery that does not look at the row around it aggregates too much.

    Kinds: `any_group` for `weight IN (SELECT max(weight) FROM ship GROUP BY port)`, which a ship
    meets that is as heavy as the heaviest of another port; `all_groups` for `SELECT port, count(*)
    FROM ship WHERE weight > (SELECT avg(weight) FROM ship) GROUP BY port`, where the average is of
    the ships of all ports.
    """
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        kind = _judge(comparison, reading)
        if kind is not None:
            evidence = {"kind": kind, "condition": comparison.text}
            return [Finding(Flag.AGGREGATE_OF_OTHER_ROWS, evidence)]
    return []


def _judge(comparison: Comparison, reading: Reading) -> str | None:
    query, outer = comparison.right, comparison.node.parent_select
    if not isinstance(query, exp.Select) or outer is None or _is_correlated(query, reading):
        return None
    first = query.expressions[0].unalias()
    if query.args.get("group") is not None:
        is_extreme = isinstance(first, exp.Min | exp.Max) and query.args.get("limit") is None
        return "any_group" if is_extreme and comparison.operator in ("=", "IN") else None
    if outer.args.get("group") is None or not is_one_row(query, reading.scopes):
        return None
    clause = comparison.node.find_ancestor(exp.Where, exp.Having, exp.Select)
    if not isinstance(clause, exp.Where) or query.args.get("where") is not None:
        return None
    if not isinstance(first, exp.Avg):  # `= (SELECT max(...))` chooses rows, and then groups them
        return None
    inner = {member.name.lower() for member in members_of_from(query)}
    around = {member.name.lower() for member in members_of_from(outer)}
    return "all_groups" if inner <= around else None


def _is_correlated(query: exp.Select, reading: Reading) -> bool:
    own = reading.scopes.scope_of(query)
    found = (reading.resolve(column) for column in query.find_all(exp.Column))
    return any(resolution is not None and resolution.scope is own.parent for resolution in found)
