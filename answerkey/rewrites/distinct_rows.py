"""DISTINCT of a SELECT: each row once, or as often as it comes."""

from __future__ import annotations

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed, find_user, has_unique_rows, is_counted_once
from answerkey.sql.scopes import Scopes


def toggle_distinct_rows(scopes: Scopes) -> Steps:
    """Yield `distinct`: `SELECT a` -> `SELECT DISTINCT a`, and the other way round.

    There is no such step if equal rows count as one, or cannot be.
    """
    for select in scopes.nodes.find_all(exp.Select):
        if _shows_rows(select) and not (is_counted_once(select) or has_unique_rows(select, scopes)):
            other = None if select.args.get("distinct") else exp.Distinct()
            with changed(select, distinct=other):
                yield "distinct"


def _shows_rows(select: exp.Select) -> bool:
    user = find_user(select)
    return user is None or isinstance(user, exp.From | exp.Join | exp.CTE | exp.SetOperation)
