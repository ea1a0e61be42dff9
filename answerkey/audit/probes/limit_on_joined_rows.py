"""limit_on_joined_rows: LIMIT counts the rows of a join, where the first things are asked for.

`SELECT T2.name FROM storm AS T1 JOIN region AS T2 ON T2.storm_id = T1.id ORDER BY T1.deaths DESC
LIMIT 1` -> one region of the worst storm, which may have several.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.comparisons import Reading, read_query
from answerkey.audit.conditions import is_one_row
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_rewrites import show_sql
from answerkey.sql.resolutions import Resolution, Source
from answerkey.sqlite.schema import fold_name, quote_name


def find_limit_on_joined_rows(inspection: Inspection) -> list[Finding]:
    """A finding where rows are sorted by a column of one table, and cut by LIMIT, and a join
    repeats the rows of that table: its key stands several times in the column it is joined with.

    Kinds: `one` for LIMIT 1, where no column of the sorted table is returned; `several` for more.
    """
    reading = read_query(inspection)
    for select in reading.scopes.nodes.find_all(exp.Select):
        sorted_by = _find_sort_column(select, reading)
        if sorted_by is None or select.args.get("distinct") is not None:
            continue
        is_one = select.args["limit"].expression.name == "1"
        if is_one and _returns_any(select, sorted_by.source, reading):
            continue
        repeated_in = _find_repeating(sorted_by.source, reading)
        if repeated_in is not None:
            evidence = {
                "kind": "one" if is_one else "several",
                "sql": show_sql(select.args["order"]),
                "repeated_in": repeated_in,
            }
            return [Finding(Flag.LIMIT_ON_JOINED_ROWS, evidence)]
    return []


def _find_sort_column(select: exp.Select, reading: Reading) -> Resolution | None:
    order, limit = select.args.get("order"), select.args.get("limit")
    if order is None or limit is None or not select.args.get("joins"):
        return None
    if select.args.get("group") is not None or is_one_row(select, reading.scopes):
        return None
    found = reading.resolve(order.expressions[0].this.unnest())
    is_column = found is not None and found.is_direct and found.column is not None
    return found if is_column else None


def _returns_any(select: exp.Select, source: Source, reading: Reading) -> bool:
    if any(expression.is_star for expression in select.expressions):
        return True
    columns = (c for expression in select.expressions for c in expression.find_all(exp.Column))
    found = map(reading.resolve, columns)
    return any(resolution is not None and resolution.source is source for resolution in found)


def _find_repeating(source: Source, reading: Reading) -> list[str] | None:
    """The column of another table that holds a key of the source several times."""
    for comparison in reading.comparisons:
        sides = reading.resolve(comparison.left), reading.resolve(comparison.right)
        if comparison.operator != "=" or any(s is None or s.column is None for s in sides):
            continue
        own, other = sides if sides[0].source is source else sides[::-1]
        if own.source is not source or other.source is source or not other.is_direct:
            continue
        keys = {tuple(map(fold_name, key)) for key in source.table.unique_keys}
        if (fold_name(own.column.name),) in keys and _has_repeats(other, reading):
            return [other.table.name, other.column.name]
    return None


def _has_repeats(found: Resolution, reading: Reading) -> bool:
    table, column = quote_name(found.table.name), quote_name(found.column.name)
    return bool(
        reading.values.ask(
            f"SELECT 1 FROM {table} WHERE {column} IS NOT NULL"
            f" GROUP BY {column} HAVING count(*) > 1 LIMIT 1"
        )
    )
