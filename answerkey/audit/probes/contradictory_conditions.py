"""contradictory_conditions: of two conditions on one column no row meets both, or all meet one."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.conditions import list_chains
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql


def find_contradictory_conditions(inspection: Inspection) -> list[Finding]:
    """A finding of the kind `never` for `port = 'A' AND port = 'B'`, which no row meets: INTERSECT
    was meant; of the kind `always` for `port != 'A' OR port != 'B'`, which every row meets."""
    reading = read_query(inspection)
    for connective, equality, kind in ((exp.And, exp.EQ, "never"), (exp.Or, exp.NEQ, "always")):
        for parts in list_chains(reading.scopes, connective):
            pair = _find_pair(parts, equality, reading)
            if pair is not None:
                evidence = {"kind": kind, "conditions": [show_sql(p) for p in pair]}
                return [Finding(Flag.CONTRADICTORY_CONDITIONS, evidence)]
    return []


def _find_pair(
    parts: list[exp.Expression], equality: type[exp.Expression], reading: Reading
) -> list[exp.Expression] | None:
    """Two of the conditions that compare one column of one source with different literals."""
    first: dict[tuple[int, str], exp.Expression] = {}
    for part in parts:
        if type(part) is not equality or not reading.is_literal(part.expression.unnest()):
            continue
        found = reading.resolve(part.this.unnest())
        if found is None or found.column is None or found.source is None:
            continue
        other = first.setdefault((id(found.source), found.column.name), part)
        if other.expression.unnest().name.lower() != part.expression.unnest().name.lower():
            return [other, part]
    return None
