"""NULL as a value, or as none.

Reason: "which cities have two employees" asks for cities, and NULL is none; "not from the USA" does
not say whether a singer of whom no country is known is one of them.
"""

from __future__ import annotations

import re

from sqlglot import exp

from answerkey.sql.resolutions import Resolution
from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, replaced
from answerkey.suites.neighbors.conditions import add_condition
from answerkey.suites.neighbors.names import find_direct, is_name, is_nullable, name_column

_NEGATION = re.compile(
    r"\b(not|no|never|neither|nor|without|except|exclud\w+|other than|cannot)\b|n['’]t\b",
    re.IGNORECASE,
)
_COMPARISONS = (exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)


def read_nulls(scopes: Scopes, question_text: str) -> Steps:
    """without_null of columns in GROUP BY, and of those that INTERSECT or EXCEPT show;
    with_unknown, where a question says "not" and a comparison leaves out NULL; counted_names and
    counted_rows, where things are counted by their rows or by their names."""
    for group in scopes.nodes.find_all(exp.Group):
        yield from _leave_out(group.parent, group.expressions, scopes)
    for node in scopes.nodes.find_all(exp.Intersect, exp.Except):
        if isinstance(node.this, exp.Select) and node.this.args.get("group") is None:
            shown = [column.unalias() for column in node.this.expressions]
            yield from _leave_out(node.this, shown, scopes)
    if _NEGATION.search(question_text) is not None:
        yield from _take_unknown(scopes)
    for count in scopes.nodes.find_all(exp.Count):
        yield from _count_otherwise(count, scopes)


def _leave_out(select: exp.Expression, columns: list[exp.Expression], scopes: Scopes) -> Steps:
    nullable = [column for column in columns if _is_nullable(column, scopes)]
    if nullable:
        tests = [
            exp.Not(this=exp.Is(this=column.copy(), expression=exp.Null())) for column in nullable
        ]
        with changed(select, where=add_condition(select, "where", exp.and_(*tests))):
            yield "without_null"


def _take_unknown(scopes: Scopes) -> Steps:
    for node in scopes.nodes.find_all(*_COMPARISONS, exp.Not):
        is_pattern = isinstance(node, exp.Not) and isinstance(node.this, exp.Like)
        column = node.this.this if is_pattern else node.this
        is_known = isinstance(node, exp.Not) and not is_pattern
        if is_known or node.find_ancestor(exp.Where) is None or not _is_nullable(column, scopes):
            continue
        unknown = exp.Is(this=column.copy(), expression=exp.Null())
        with replaced(node, exp.Paren(this=exp.Or(this=node.copy(), expression=unknown))):
            yield "with_unknown"


def _count_otherwise(count: exp.Count, scopes: Scopes) -> Steps:
    if not isinstance(count.this, exp.Star):
        found = find_direct(count.this, scopes)
        if found is not None and is_name(found) and is_nullable(found.column):
            with changed(count, this=exp.Star()):
                yield "counted_rows"
        return
    scope = scopes.scope_of(count.parent_select)
    for source in scope.sources.values():
        for column in source.table.columns if source.table is not None else ():
            if is_nullable(column) and is_name(
                Resolution(source, source.table, column, None, scope)
            ):
                with changed(count, this=name_column(column, source, scope)):
                    yield "counted_names"


def _is_nullable(column: exp.Expression, scopes: Scopes) -> bool:
    found = find_direct(column, scopes)
    return found is not None and is_nullable(found.column)
