"""mixed_connectives: AND and OR stand side by side, and no parentheses say which comes first."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql


def find_mixed_connectives(inspection: Inspection) -> list[Finding]:
    """A finding for `a = 1 AND b = 2 OR c = 3`: AND binds more closely than OR, so that `c = 3`
    is enough. BETWEEN ... AND is no such AND."""
    for node in inspection.scopes.nodes.find_all(exp.Or):
        if isinstance(node.this, exp.And) or isinstance(node.expression, exp.And):
            return [Finding(Flag.MIXED_CONNECTIVES, {"condition": show_sql(node)})]
    return []
