"""Choices among the values of a bare column: whether another one than SQLite's changes the answer.

`SELECT name, count(*) FROM ship GROUP BY harbour_id` with max(name) for name gives other rows.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.audit.groupings import Grouping
from answerkey.audit.inspection import Inspection
from answerkey.audit.order import is_order_certain
from answerkey.sql.query_rewrites import copy_with, is_same_statement, to_sql
from answerkey.sqlite.answers import answers_match, shape_answer

# Greatest first: SQLite keeps the first value that it reads, as a rule, which often is the least.
_CHOICES = ("max({0})", "min({0})", "CASE WHEN count({0}) = count(*) THEN min({0}) END")


def is_other_choice_seen(inspection: Inspection, grouping: Grouping) -> bool:
    """Whether another choice of values changes the answer, or, where that counts, the order of its
    rows. With min() or max() no other choice can be written in SQL: then it is enough that a mixed
    group is shown, or that the choice decides which groups are."""
    if grouping.extreme is not None:
        return True
    answer = shape_answer(inspection.rows)
    is_ordered, rel_tol = is_order_certain(inspection), inspection.thresholds.rel_tol

    def is_same(choice: str) -> bool:
        other = inspection.database.execute(to_sql(_choose(inspection, grouping, choice)))
        return answers_match(answer, shape_answer(other), ordered=is_ordered, rel_tol=rel_tol)

    return not all(map(is_same, _CHOICES)) and _is_faithful(inspection, rel_tol)


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
