"""Groups: GROUP BY without one of its keys, or without all.

`GROUP BY a, b` -> `GROUP BY b`, `GROUP BY a`; another key in the place of one is in columns.py, and
HAVING in connectors.py.
"""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes
from answerkey.suites.neighbors.changes import Steps, changed, without


def mutate_groups(scopes: Scopes) -> Steps:
    """group_key_removed; of the only key group_removed, if no HAVING needs it, nor ORDER BY."""
    for group in scopes.nodes.find_all(exp.Group):
        keys, select = group.expressions, group.parent
        if len(keys) > 1:
            for place in range(len(keys)):
                with changed(group, expressions=without(keys, place)):
                    yield "group_key_removed"
        elif select.args.get("having") is None and _is_aggregated(select):
            with changed(select, group=None):
                yield "group_removed"


def _is_aggregated(select: exp.Select) -> bool:
    return select.args.get("order") is None or any(
        shown.find(exp.AggFunc) is not None for shown in select.expressions
    )
