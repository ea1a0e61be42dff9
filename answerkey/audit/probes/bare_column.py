"""bare_column: a value that SQLite takes from any row of a group, since nothing says from which.

`SELECT name, count(*) FROM ship GROUP BY harbour_id` -> a finding where some harbour has ships of
different names, and that can be seen in the answer.

SQLite's rules (the manual's page on SELECT, section 2.5): with exactly one min() or max() the
values come from a row that has the extreme; otherwise from an arbitrary row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlglot import exp

from answerkey.audit.bare_choices import find_other_choice
from answerkey.audit.groupings import Grouping, read_grouping
from answerkey.audit.inspection import Inspection
from answerkey.core.findings import Finding
from answerkey.core.flags import Flag
from answerkey.sql.query_parts import find_with
from answerkey.sql.query_rewrites import SHOWN_CHARACTERS, show_sql, to_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import QueryError, Row

_FACTS = "count(DISTINCT {0}), count({0}), min({0}), max({0})"
_MOST_GROUPS = 1000


def find_bare_column(inspection: Inspection) -> list[Finding]:
    """A finding where a column that is neither aggregated nor determined by GROUP BY holds several
    values in some group, and another choice among them changes the answer."""
    scopes = inspection.scopes
    for select in scopes.nodes.find_all(exp.Select):
        grouping = read_grouping(select, scopes)
        if grouping is None or not (grouping.columns or grouping.stars):
            continue
        bare = _bare_expressions(grouping, scopes)
        try:
            groups = _find_groups(inspection, grouping, bare)
        except QueryError:
            continue
        if groups:
            return [Finding(Flag.BARE_COLUMN, _describe(groups[0], grouping, bare))]
    return []


def _find_groups(
    inspection: Inspection, grouping: Grouping, bare: dict[str, exp.Expression]
) -> list[Row]:
    """The groups of a finding: those that are in the answer where some are; none, no finding."""
    mixed = _find_mixed_groups(inspection, grouping, bare)
    other = find_other_choice(inspection, grouping) if mixed else None
    if other is None:
        return []
    if other.groups is None:
        shown = mixed if inspection.rows else []
    else:
        shown = [row for row in mixed if row[: len(grouping.keys)] in other.groups]
    if shown or grouping.extreme is None or grouping.has_deciding_column:
        return shown or mixed
    return []


def _find_mixed_groups(
    inspection: Inspection, grouping: Grouping, expressions: dict[str, exp.Expression]
) -> list[Row]:
    """Groups in which a bare column holds several values (a NULL is one): their keys, their number
    of rows, and for each bare column its distinct values, values, least and greatest."""
    select = grouping.scope.select
    base = exp.Select(
        expressions=[], from_=select.args["from_"].copy(),
        joins=[join.copy() for join in select.args.get("joins") or []] or None,
        where=select.args["where"].copy() if select.args.get("where") else None,
    )  # fmt: skip
    with_ = find_with(select)
    inner = to_sql(_with_columns(base, _spread(grouping, expressions)))
    keys = [f"g{n}" for n in range(len(grouping.keys))]
    bare = [f"c{n}" for n in range(len(expressions))]
    condition = "WHERE r = 1 " if grouping.extreme is not None else ""
    facts = ", ".join(_FACTS.format(column) for column in bare)
    is_mixed = " OR ".join(
        f"count(DISTINCT {c}) > 1 OR count({c}) BETWEEN 1 AND count(*) - 1" for c in bare
    )
    return inspection.database.execute(
        (f"{to_sql(with_)} " if with_ is not None else "")
        + f"SELECT {', '.join([*keys, 'count(*)', facts])} FROM ({inner}) {condition}"
        + (f"GROUP BY {', '.join(keys)} " if keys else "")
        + f"HAVING {is_mixed} LIMIT {_MOST_GROUPS}"
    )


def _bare_expressions(grouping: Grouping, scopes: Scopes) -> dict[str, exp.Expression]:
    """The bare columns by their text, those of `*` among them."""
    found = {to_sql(column): column for column in grouping.columns}
    for star in grouping.stars:
        for output in scopes.expand_star(star, grouping.scope):
            column = exp.column(
                output.name, table=output.resolution.source.name or None, quoted=True
            )
            found[to_sql(column)] = column
    return found


def _spread(
    grouping: Grouping, expressions: dict[str, exp.Expression]
) -> Iterator[tuple[str, exp.Expression]]:
    for number, key in enumerate(grouping.keys):
        yield f"g{number}", key
    for number, expression in enumerate(expressions.values()):
        yield f"c{number}", expression
    if grouping.extreme is not None:
        measure = grouping.extreme.this
        order = exp.Ordered(
            this=(measure.expressions[0] if isinstance(measure, exp.Distinct) else measure).copy(),
            desc=isinstance(grouping.extreme, exp.Max),
            nulls_first=False,
        )
        rank = exp.Window(
            this=exp.Anonymous(this="rank"),
            partition_by=[key.copy() for key in grouping.keys] or None,
            order=exp.Order(expressions=[order]),
            over="OVER",
        )
        yield "r", rank


def _with_columns(base: exp.Select, columns: Iterable[tuple[str, exp.Expression]]) -> exp.Select:
    for name, expression in columns:
        base.append("expressions", exp.alias_(expression.copy(), name))
    return base


def _describe(
    row: Row, grouping: Grouping, expressions: dict[str, exp.Expression]
) -> dict[str, Any]:
    """Evidence: one mixed group, and the first bare column that has several values in it."""
    width = len(grouping.keys)
    facts = [row[width + 1 + 4 * n : width + 5 + 4 * n] for n in range(len(expressions))]
    for name, (distinct, count, least, most) in zip(expressions, facts, strict=True):
        has_null = count < row[width]
        if distinct + has_null > 1:
            return {
                "column": name[:SHOWN_CHARACTERS],
                "group_by": [show_sql(key) for key in grouping.keys],
                "group": [_cut(value) for value in row[:width]],
                "distinct_values": distinct + has_null,
                "values": [
                    _cut(value) for value in ((least, most) if distinct > 1 else (None, least))
                ],
                "row_picked_by": to_sql(grouping.extreme) if grouping.extreme is not None else None,
            }
    raise ValueError(f"No bare column has several values in {row}")


def _cut(value: Any) -> Any:
    return value[:SHOWN_CHARACTERS] if isinstance(value, str) else value
