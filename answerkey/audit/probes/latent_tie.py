"""latent_tie: LIMIT takes a row that only happens to have no tie in these rows.

`SELECT name FROM ship ORDER BY weight DESC LIMIT 1` -> a finding where some ships have equal
weights, though not the two heaviest. Where these have, it is tie_at_limit.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import read_ties
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql
from answerkey.sqlite.schema import quote_name


def find_latent_tie(inspection: Inspection) -> list[Finding]:
    """A finding where ORDER BY ... LIMIT sorts by one column of a table, in which some values are
    equal, and another column is returned."""
    reading = read_query(inspection)
    for select in reading.scopes.nodes.find_all(exp.Select):
        found = _judge_sort(select, reading)
        if found is not None:
            ties = read_ties(inspection)
            is_tied = ties is not None and bool(ties.cut_runs())
            return [] if is_tied else [Finding(Flag.LATENT_TIE, found)]
    return []


def _judge_sort(select: exp.Select, reading: Reading) -> dict[str, Any] | None:
    order = select.args.get("order")
    if order is None or select.args.get("limit") is None or len(order.expressions) != 1:
        return None
    key = order.expressions[0].this.unnest()
    base = reading.base_column(key)
    if base is None or select.args.get("group") is not None or is_one_row(select, reading.scopes):
        return None
    if all(reading.base_column(output.unalias()) == base for output in select.expressions):
        return None  # the value itself is asked for
    table, column = base[0].name, quote_name(base[1].name)
    counts = reading.values.ask(
        f"SELECT count({column}), count(DISTINCT {column}) FROM {quote_name(table)}"
    )
    if not counts or counts[0][0] == counts[0][1]:
        return None
    rows, values = counts[0]
    return {"sorted_by": show_sql(key), "rows": rows, "different_values": values}
