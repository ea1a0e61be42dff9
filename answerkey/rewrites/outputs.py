"""What a query shows: other columns, what it counts, how many rows there are, one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlglot import exp

from answerkey.rewrites.trees import changed, replaced, together
from answerkey.sql.query_tree import make_limit


@contextmanager
def show(select: exp.Select, outputs: list[exp.Expr]) -> Iterator[None]:
    """Show other columns: `SELECT a FROM t` -> `SELECT a, b FROM t`."""
    with changed(select, expressions=[output.copy() for output in outputs]):
        yield


@contextmanager
def show_on_both_sides(sides: Iterable[tuple[exp.Select, exp.Expr]]) -> Iterator[None]:
    """Show another column in the SELECTs of a set operation: `SELECT a FROM t EXCEPT SELECT a FROM
    u` -> `SELECT b FROM t EXCEPT SELECT b FROM u`."""
    with together(show(select, [output]) for select, output in sides):
        yield


@contextmanager
def show_values(select: exp.Select, value: exp.Expr) -> Iterator[None]:
    """Show what is counted: `SELECT count(a) FROM t` -> `SELECT a FROM t`."""
    with show(select, [value]):
        yield


@contextmanager
def show_distinct_values(select: exp.Select, value: exp.Expr) -> Iterator[None]:
    """Show what is counted, each value once: `SELECT count(DISTINCT a) FROM t` -> `SELECT DISTINCT
    a FROM t`."""
    with changed(select, expressions=[value.copy()], distinct=exp.Distinct()):
        yield


@contextmanager
def count_rows(query: exp.Query) -> Iterator[None]:
    """Count the rows of a query: `SELECT a FROM t` -> `SELECT COUNT(*) FROM (SELECT a FROM t)`."""
    rows = exp.Subquery(this=query.copy())
    with replaced(query, exp.select(exp.Count(this=exp.Star())).from_(rows)):
        yield


@contextmanager
def drop_group(select: exp.Select) -> Iterator[None]:
    """Take all rows as one group: `SELECT count(*) FROM t GROUP BY a` -> `SELECT count(*) FROM
    t`."""
    with changed(select, group=None):
        yield


@contextmanager
def show_row_of_extreme(
    select: exp.Select, outputs: list[exp.Expr], extreme: exp.Min | exp.Max
) -> Iterator[None]:
    """Show columns of the row that has an extreme, without the extreme: `SELECT a, max(b) FROM t`
    -> `SELECT a FROM t ORDER BY b DESC LIMIT 1`.

    In groups, SQLite shows the columns of that row, if max() or min() is still computed:
    `SELECT a, max(b) FROM t GROUP BY c` -> `SELECT a FROM t GROUP BY c HAVING NOT max(b) IS NULL`.
    """
    columns = [output.copy() for output in outputs]
    if select.args.get("group"):
        is_known = exp.Not(this=exp.Is(this=extreme.copy(), expression=exp.null()))
        with changed(select, expressions=columns, having=exp.Having(this=is_known)):
            yield
        return
    is_max = isinstance(extreme, exp.Max)
    term = exp.Ordered(this=extreme.this.copy(), desc=is_max, nulls_first=False)
    order, limit = exp.Order(expressions=[term]), make_limit(1)
    with changed(select, expressions=columns, order=order, limit=limit):
        yield
