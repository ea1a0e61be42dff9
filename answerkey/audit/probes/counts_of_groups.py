"""counts_of_groups: groups are chosen by HAVING, and only the size of each is returned."""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import SHOWN_CHARACTERS, to_sql, unwrap


def find_counts_of_groups(inspection: Inspection) -> list[Finding]:
    """A finding for `SELECT count(*) FROM ship GROUP BY port HAVING count(*) > 2`: it returns how
    many ships each port has, and not how many ports have more than two."""
    query = unwrap(inspection.tree)
    if not isinstance(query, exp.Select):
        return []
    group, having = query.args.get("group"), query.args.get("having")
    outputs = [expression.unalias() for expression in query.expressions]
    if group is None or having is None or not all(isinstance(o, exp.Count) for o in outputs):
        return []
    sql = f"{to_sql(group)} {to_sql(having)}"[:SHOWN_CHARACTERS]
    return [Finding(Flag.COUNTS_OF_GROUPS, {"sql": sql, "rows": len(inspection.rows)})]
