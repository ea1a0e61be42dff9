"""disjoint_comparison: a column must differ from what a subquery returns, and always does.

Columns that are compared for equality and share no value are found by join_not_on_key.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import read_query
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag

_INEQUALITIES = frozenset({"!=", "IS NOT"})


def find_disjoint_comparison(inspection: Inspection) -> list[Finding]:
    """A finding for `harbour != (SELECT captain FROM ship ...)`, where no harbour is a captain, so
    that every row meets the condition."""
    reading = read_query(inspection)
    for comparison in reading.comparisons:
        is_negated = comparison.operator == "IN" and isinstance(comparison.node.parent, exp.Not)
        if not is_negated and comparison.operator not in _INEQUALITIES:
            continue
        left = reading.base_column(comparison.left)
        is_query = isinstance(comparison.right, exp.Query)
        right = reading.returned_column(comparison.right) if left and is_query else None
        if left is None or right is None or left == right:
            continue
        names = (left[0].name, left[1].name), (right[0].name, right[1].name)
        if reading.values.share_in_common(*names) == 0:
            evidence = {"condition": comparison.text, "columns": [".".join(name) for name in names]}
            return [Finding(Flag.DISJOINT_COMPARISON, evidence)]
    return []
