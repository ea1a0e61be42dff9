"""What aggregates count: each value once or as often as it comes, other values, or whole rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from sqlglot import exp

from answerkey.rewrites.trees import Steps, changed
from answerkey.sql.keys import is_nullable
from answerkey.sql.scopes import Place, Scopes, list_columns

_DISTINCT_CALLS = (exp.Count, exp.Sum, exp.Avg)  # DISTINCT does not change MIN and MAX
_MAX_COUNTED_PER_COUNT = 2  # columns: one call should not give most neighbors of a query


def find_distinct_value(call: exp.Expr) -> exp.Expr | None:
    """Return the one expression whose distinct values a call takes; None if there is no DISTINCT,
    or several expressions.

    `count(DISTINCT a)` -> `a`
    """
    inner = call.this
    if not isinstance(inner, exp.Distinct) or len(inner.expressions) != 1:
        return None
    value: exp.Expr = inner.expressions[0]
    return value


@contextmanager
def with_distinct_values(call: exp.Expr) -> Iterator[None]:
    """Take each value of a call once: `count(a)` -> `count(DISTINCT a)`."""
    with changed(call, this=exp.Distinct(expressions=[call.this.copy()])):
        yield


@contextmanager
def without_distinct_values(call: exp.Expr, value: exp.Expr) -> Iterator[None]:
    """Take values as often as they come: `count(DISTINCT a)` -> `count(a)`.

    value: the distinct value of the call, from `find_distinct_value`.
    """
    with changed(call, this=value.copy()):
        yield


@contextmanager
def count_once(counts: Iterable[exp.Count], value: exp.Expr) -> Iterator[None]:
    """Count the things that have a value in place of rows: `count(*)` -> `count(DISTINCT a.id)`."""
    with ExitStack() as stack:
        for count in counts:
            once = exp.Distinct(expressions=[value.copy()])
            stack.enter_context(changed(count, this=once))
        yield


def toggle_distinct_values(scopes: Scopes) -> Steps:
    """Yield `aggregate_distinct`: `sum(a)` -> `SUM(DISTINCT a)`, and the other way round."""
    for call in scopes.nodes.find_all(*_DISTINCT_CALLS):
        if not _takes_one_value(call):
            continue
        value = find_distinct_value(call)
        other = (
            with_distinct_values(call) if value is None else without_distinct_values(call, value)
        )
        with other:
            yield "aggregate_distinct"


def _takes_one_value(call: exp.Expr) -> bool:
    """Whether a call has one argument, which is no star and no list of distinct ones."""
    if isinstance(call, exp.Count) and isinstance(call.this, exp.Star):
        return False
    if isinstance(call.this, exp.Distinct) and find_distinct_value(call) is None:
        return False
    return not call.args.get("expressions")


def count_other_values(scopes: Scopes) -> Steps:
    """Yield `count_argument`: `count(a)` -> `COUNT(*)`; `count(*)` -> `COUNT(b)`,
    `COUNT(DISTINCT b)`."""
    for call in scopes.nodes.find_all(exp.Count):
        if isinstance(call.this, exp.Star):
            yield from _count_values(call, scopes)
        elif _takes_one_value(call):
            with changed(call, this=exp.Star()):
                yield "count_argument"


def _count_values(call: exp.Count, scopes: Scopes) -> Steps:
    """Count distinct values of columns that the SELECT names and does not group by, and values of
    one column that it does not name and that may be NULL."""
    scope = scopes.scope_of(call)
    if scope is None:
        return
    group = scope.select.args.get("group")
    keys = [scopes.find_direct(key) for key in group.expressions] if group is not None else []
    grouped = {key.place for key in keys if key is not None}
    named: dict[Place, exp.Column] = {}
    names: set[str] = set()
    for node in scopes.nodes.find_all(exp.Column):
        column = scopes.find_direct(node)
        is_own = scopes.scope_of(node) is scope
        if column is not None and column.scope is scope and is_own:
            names.add(node.name)
            if column.place not in grouped:
                named.setdefault(column.place, node)
    counted = list(named.values())[:_MAX_COUNTED_PER_COUNT]
    inner: list[exp.Expr] = [exp.Distinct(expressions=[column.copy()]) for column in counted]
    for other in list_columns(scope):
        if is_nullable(other.column) and other.column.name not in names:
            inner += [other.write(), exp.Distinct(expressions=[other.write()])]
            break
    for values in inner:
        with changed(call, this=values):
            yield "count_argument"
