"""having_without_group: HAVING without GROUP BY tests all rows as one group."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql


def find_having_without_group(inspection: Inspection) -> list[Finding]:
    """A finding for `SELECT name FROM ship HAVING count(*) > 2`: one group, of all ships."""
    for select in inspection.scopes.nodes.find_all(exp.Select):
        having = select.args.get("having")
        if having is not None and select.args.get("group") is None:
            return [Finding(Flag.HAVING_WITHOUT_GROUP, {"having": show_sql(having)})]
    return []
