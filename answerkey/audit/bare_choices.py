"""Choices among the values of a bare column: those that change the answer, and the groups in it.

`SELECT name, count(*) FROM ship GROUP BY harbour_id` with max(name) for name gives other rows.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlglot import exp

from answerkey.audit.groupings import Grouping
from answerkey.audit.inspection import Inspection
from answerkey.audit.order import is_order_certain
from answerkey.sql.query_rewrites import copy_with, is_same_statement, to_sql, unwrap
from answerkey.sqlite.answers import answers_match, shape_answer
from answerkey.sqlite.guard import Row

# Greatest first: SQLite keeps the first value that it reads, as a rule, which often is the least.
_CHOICES = ("max({0})", "min({0})", "CASE WHEN count({0}) = count(*) THEN min({0}) END")


class Execution(NamedTuple):
    """The rows of the query with some choice, and the keys of the group that each row is of; no
    groups where that cannot be told."""

    rows: list[Row]
    groups: set[Row] | None


def find_other_choice(inspection: Inspection, grouping: Grouping) -> Execution | None:
    """An execution with another choice of values that changes the answer, or, where that counts,
    the order of its rows; None where there is none.

    With min() or max() no other choice can be written in SQL: then it is the query as it stands.
    """
    if grouping.extreme is not None:
        return _execute(inspection, grouping, None)
    answer = shape_answer(inspection.rows)
    is_ordered, rel_tol = is_order_certain(inspection), inspection.thresholds.rel_tol
    for choice in _CHOICES:
        found = _execute(inspection, grouping, choice)
        other = shape_answer(found.rows)
        if not answers_match(answer, other, ordered=is_ordered, rel_tol=rel_tol):
            return found if _is_faithful(inspection, rel_tol) else None
    return None


def _execute(inspection: Inspection, grouping: Grouping, choice: str | None) -> Execution:
    """The query with a choice (None: with SQLite's own), and the keys as further columns."""
    tree = inspection.tree.copy() if choice is None else _choose(inspection, grouping, choice)
    select = grouping.scope.select
    is_plain = select is unwrap(inspection.tree) and not select.args.get("distinct")
    if not is_plain or not grouping.keys:
        return Execution(inspection.database.execute(to_sql(tree)), None)
    for key in grouping.keys:
        unwrap(tree).append("expressions", key.copy())
    rows = inspection.database.execute(to_sql(tree))
    width = len(grouping.keys)
    return Execution([row[:-width] for row in rows], {row[-width:] for row in rows})


def _is_faithful(inspection: Inspection, rel_tol: float) -> bool:
    """Whether the query is written out as it was read: nothing can be concluded where the writing
    itself changes the answer."""
    sql = to_sql(inspection.tree)
    if is_same_statement(sql, inspection.sql):
        return True
    answer, other = shape_answer(inspection.rows), inspection.database.execute(sql)
    return answers_match(answer, shape_answer(other), ordered=False, rel_tol=rel_tol)


def _choose(inspection: Inspection, grouping: Grouping, choice: str) -> exp.Expression:
    """The query with each bare column replaced by one of its group's values."""
    nodes = [*grouping.columns, *grouping.stars]
    copy, twins = copy_with(inspection.tree, nodes)
    for node, twin in zip(nodes, twins, strict=True):
        if node in grouping.stars:
            for output in inspection.scopes.expand_star(node, grouping.scope):
                column = exp.column(
                    output.name, table=output.resolution.source.name or None, quoted=True
                )
                chosen = exp.maybe_parse(choice.format(to_sql(column)), dialect="sqlite")
                twin.parent.append("expressions", exp.alias_(chosen, output.name, quoted=True))
            twin.pop()
            continue
        chosen = exp.maybe_parse(choice.format(to_sql(twin)), dialect="sqlite")
        if isinstance(twin.parent, exp.Select):
            chosen = exp.alias_(chosen, twin.name, quoted=True)
        twin.replace(chosen)
    return copy
