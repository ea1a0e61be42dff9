"""latent_tie: one row is taken where there may be several, and only happens to be alone today.

`SELECT name FROM ship ORDER BY weight DESC LIMIT 1` -> a finding where some ships have equal
weights, though not the two heaviest. Where these have, it is tie_at_limit.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from answerkey.audit.comparisons import Comparison, Reading, read_query
from answerkey.audit.conditions import is_one_row, list_parts
from answerkey.audit.inspection import Inspection
from answerkey.audit.ties import read_ties
from answerkey.core.findings import Finding
from answerkey.core.reasons import Flag
from answerkey.sql.query_parts import members_of_from
from answerkey.sql.query_rewrites import to_sql
from answerkey.sqlite.schema import fold_name, quote_name

_SHOWN_TEXT = 200


def find_latent_tie(inspection: Inspection) -> list[Finding]:
    """A finding where another row may come to be as good as the one that is taken.

    Kinds: `equal_values`, ORDER BY ... LIMIT sorts by a column that has equal values elsewhere;
    `subquery`, a value is compared with that of a subquery, whose condition is on no unique column.
    """
    reading = read_query(inspection)
    for select in reading.scopes.nodes.find_all(exp.Select):
        found = _judge_sort(select, reading)
        if found is not None:
            ties = read_ties(inspection)
            is_tied = ties is not None and bool(ties.cut_runs())
            return [] if is_tied else [Finding(Flag.LATENT_TIE, {"kind": "equal_values"} | found)]
    for comparison in reading.comparisons:
        if _may_have_more_rows(comparison, reading):
            evidence = {"kind": "subquery", "condition": comparison.text}
            return [Finding(Flag.LATENT_TIE, evidence)]
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
    return {"sorted_by": to_sql(key)[:_SHOWN_TEXT], "rows": rows, "different_values": values}


def _may_have_more_rows(comparison: Comparison, reading: Reading) -> bool:
    query = comparison.right
    if not isinstance(query, exp.Select) or comparison.operator == "IN":
        return False
    if any(query.args.get(clause) is not None for clause in ("limit", "group")):
        return False
    return not is_one_row(query, reading.scopes) and not _has_one_row_by_key(query, reading)


def _has_one_row_by_key(select: exp.Select, reading: Reading) -> bool:
    """Whether conditions on a unique column leave one row of the only table at most."""
    where, members = select.args.get("where"), members_of_from(select)
    if len(members) != 1:
        return not members
    fixed = set()
    for part in list_parts(where.this, exp.And) if where is not None else ():
        found = reading.resolve(part.this.unnest()) if isinstance(part, exp.EQ) else None
        if found is not None and found.column is not None:
            fixed.add(fold_name(found.column.name))
    table = reading.inspection.schema.find_table(members[0].name)
    keys = table.unique_keys if table is not None else ()
    return any({fold_name(name) for name in key} <= fixed for key in keys)
