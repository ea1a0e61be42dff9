"""Weak queries: gold without one of its parts, a plain query of one of its tables, and a count that
is fitted to the stored answer.

Nobody mistakes one for gold. But a prediction that detects the real database can return the stored
answer there, and run the simplest query that is right on the suite everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.engines.database import Row
from answerkey.engines.schema import Table, fold_name, quote_name
from answerkey.rewrites.aggregates import swap_aggregate
from answerkey.rewrites.trees import (
    Change,
    FindRows,
    Steps,
    changed,
    order_by,
    replaced,
    reverse,
    write_changes,
)
from answerkey.sql.query_tree import is_star, write_table
from answerkey.sql.scopes import Scopes

WEAK_QUERY = "weak_query"
COUNT_BY_HEART = "count_by_heart"
_CLAUSES = (
    ("where",),
    ("having",),
    ("where", "having"),
    ("group", "having"),
    ("limit",),
    ("order", "limit"),
    ("distinct",),
    ("where", "group", "having", "order", "limit"),
)
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_MOST_STEPS = 60  # of each kind
_MOST_COLUMNS = 6  # columns of a table that are used
_SCALES = ("* 2", "/ 2", "* 3", "/ 3", "+ 1", "- 1")


def list_weak(scopes: Scopes, rows: list[Row]) -> list[Change]:
    """Return the weak queries of a gold query that answers these rows.

    `SELECT max(a) FROM t WHERE b > 2` -> `SELECT MAX(a) FROM t`, `SELECT AVG(a) FROM t WHERE b >
    2`, `SELECT DISTINCT "a" FROM "t"`, ...
    """
    steps = [
        _drop_clauses(scopes),
        _drop_joins(scopes),
        _drop_sides(scopes),
        _drop_orders(scopes),
        _swap_aggregates(scopes),
    ]
    weak = write_changes(scopes, steps, most=_MOST_STEPS)
    if rows and len(rows[0]) == 1:
        weak += [Change(WEAK_QUERY, sql) for sql in _list_bare_queries(scopes)]
    if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int):
        weak += [Change(WEAK_QUERY, sql) for sql in _list_scaled_counts(scopes)]
    return weak


def _drop_clauses(scopes: Scopes) -> Steps:
    """`SELECT a FROM t WHERE b ORDER BY c LIMIT 1` -> `SELECT a FROM t ORDER BY c LIMIT 1`, ..."""
    for select in scopes.nodes.find_all(exp.Select):
        for clauses in _CLAUSES:
            if any(select.args.get(clause) is not None for clause in clauses):
                with changed(select, **dict.fromkeys(clauses)):
                    yield WEAK_QUERY


def _drop_joins(scopes: Scopes) -> Steps:
    """`FROM a JOIN b ON b.a = a.id JOIN c` -> `FROM a JOIN c`, ..."""
    for select in scopes.nodes.find_all(exp.Select):
        joins = select.args.get("joins") or []
        for join in joins:
            with changed(select, joins=[other for other in joins if other is not join]):
                yield WEAK_QUERY


def _drop_sides(scopes: Scopes) -> Steps:
    """`q INTERSECT r` -> `q`, `r`"""
    for operation in scopes.nodes.find_all(exp.SetOperation):
        for side in (operation.this, operation.expression):
            with replaced(operation, side.copy()):
                yield WEAK_QUERY


def _drop_orders(scopes: Scopes) -> Steps:
    """`rank() OVER (ORDER BY a)` -> `rank() OVER (ORDER BY a DESC)`, `rank() OVER ()`; also the
    order of a `group_concat` or a `list(a ORDER BY b)`, which is only reversed."""
    for order in scopes.nodes.find_all(exp.Order):
        parent = order.parent
        if isinstance(parent, exp.Query):
            continue  # neighbors have other orders
        with replaced(order, order_by(order, [*map(reverse, order.expressions)])):
            yield WEAK_QUERY
        if isinstance(parent, exp.Window):
            with changed(parent, order=None):
                yield WEAK_QUERY


def _swap_aggregates(scopes: Scopes) -> Steps:
    """`max(a)` -> `COUNT(a)`, `SUM(a)`, `AVG(a)`, `MIN(a)`"""
    for call in scopes.nodes.find_all(*_AGGREGATES):
        if not is_star(call.this):
            yield from swap_aggregate(call, _AGGREGATES, WEAK_QUERY)


def _list_tables(scopes: Scopes) -> Iterator[Table]:
    """The tables that a query reads, each once."""
    tables = {
        source.table.name: source.table
        for scope in scopes.select_scopes()
        for source in scope.sources.values()
        if source.table is not None
    }
    yield from tables.values()


def _list_bare_queries(scopes: Scopes) -> Iterator[str]:
    """The columns that a query names, alone: `SELECT "a" FROM "t"`, `SELECT max("a") FROM "t"`."""
    named = {fold_name(column.name) for column in scopes.nodes.find_all(exp.Column)}
    for table in _list_tables(scopes):
        name = write_table(table.name)
        yield f"SELECT count(*) FROM {name}"
        columns = [column.name for column in table.columns if fold_name(column.name) in named]
        for column in map(quote_name, columns[:_MOST_COLUMNS]):
            yield f"SELECT {column} FROM {name}"
            yield f"SELECT DISTINCT {column} FROM {name}"
            yield f"SELECT count(DISTINCT {column}) FROM {name}"
            for function in ("max", "min", "sum", "avg"):
                yield f"SELECT {function}({column}) FROM {name}"


def _list_scaled_counts(scopes: Scopes) -> Iterator[str]:
    """`SELECT count(*) * 2 FROM "t"`, `SELECT count(*) + 1 FROM "t"`, ..."""
    for name in (write_table(table.name) for table in _list_tables(scopes)):
        yield from (f"SELECT count(*) {scale} FROM {name}" for scale in _SCALES)


def list_fitted(scopes: Scopes, rows: list[Row], find_rows: FindRows) -> list[Change]:
    """Return `count_by_heart`: counts of a table that a factor or a term turns into the stored
    answer, if that is one whole number.

    An answer of 3 and a table of 12 rows -> `count(*) * 3 / 12`, `count(*) + -9`
    """
    answer = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    if not isinstance(answer, int):
        return []
    fitted = []
    for table in _list_tables(scopes):
        name = write_table(table.name)
        counted = find_rows(f"SELECT count(*) FROM {name}")
        count = counted[0][0] if counted else None
        if isinstance(count, int) and count not in (0, answer):
            fitted += [
                f"SELECT count(*) * {answer} / {count} FROM {name}",
                f"SELECT CAST(round(count(*) * {answer / count!r}) AS INTEGER) FROM {name}",
                f"SELECT count(*) + {answer - count} FROM {name}",
            ]
    return [Change(COUNT_BY_HEART, sql) for sql in fitted]
