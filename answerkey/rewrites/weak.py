"""Weak queries: gold without a part of it, a plain look at one of its tables, and a count that is
fitted to the stored answer.

Nobody takes one for gold. But a prediction that tells the real database from those of a suite says
the stored answer there, and elsewhere the simplest query that is right on the suite.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from answerkey.rewrites.trees import (
    Change,
    FindRows,
    Steps,
    changed,
    replaced,
    reverse,
    write_changes,
)
from answerkey.sql.query_tree import is_star
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.guard import Row
from answerkey.sqlite.schema import Table, fold_name, quote_name

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
_MOST_COLUMNS = 6  # columns of a table that are looked at
_SCALES = ("* 2", "/ 2", "* 3", "/ 3", "+ 1", "- 1")


def list_weak(scopes: Scopes, rows: list[Row]) -> list[Change]:
    """The weak queries of a gold query with these rows.

    `SELECT max(a) FROM t WHERE b > 2` -> `SELECT MAX(a) FROM t`, `SELECT AVG(a) FROM t WHERE b >
    2`, `SELECT DISTINCT "a" FROM "t"`, ...
    """
    steps = [
        _drop_clauses(scopes),
        _drop_joins(scopes),
        _drop_sides(scopes),
        _drop_orders(scopes),
        _swap(scopes),
    ]
    weak = write_changes(scopes, steps, most=_MOST_STEPS)
    if rows and len(rows[0]) == 1:
        weak += [Change("weak_query", sql) for sql in _list_bare_queries(scopes)]
    if len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int):
        weak += [Change("weak_query", sql) for sql in _list_scaled_counts(scopes)]
    return weak


def _drop_clauses(scopes: Scopes) -> Steps:
    for select in scopes.nodes.find_all(exp.Select):
        for clauses in _CLAUSES:
            if any(select.args.get(clause) is not None for clause in clauses):
                with changed(select, **dict.fromkeys(clauses)):
                    yield "weak_query"


def _drop_joins(scopes: Scopes) -> Steps:
    for select in scopes.nodes.find_all(exp.Select):
        joins = select.args.get("joins") or []
        for join in joins:
            with changed(select, joins=[other for other in joins if other is not join]):
                yield "weak_query"


def _drop_sides(scopes: Scopes) -> Steps:
    """One side of a set operation in its place."""
    for operation in scopes.nodes.find_all(exp.SetOperation):
        for side in (operation.this, operation.expression):
            with replaced(operation, side.copy()):
                yield "weak_query"


def _drop_orders(scopes: Scopes) -> Steps:
    """A window, or rows that are put together, in any order, and in that from the other end."""
    for order in scopes.nodes.find_all(exp.Order):
        parent = order.parent
        if isinstance(parent, exp.Query):
            continue  # neighbors have other orders
        with replaced(order, exp.Order(expressions=[*map(reverse, order.expressions)])):
            yield "weak_query"
        if isinstance(parent, exp.Window):
            with changed(parent, order=None):
                yield "weak_query"


def _swap(scopes: Scopes) -> Steps:
    """Another aggregate of the same values."""
    for node in scopes.nodes.find_all(*_AGGREGATES):
        if not is_star(node.this):
            for kind in _AGGREGATES:
                if type(node) is not kind:
                    with replaced(node, kind(this=node.this.copy())):
                        yield "weak_query"


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
    """The columns that a query names of its tables, and their aggregates."""
    named = {fold_name(column.name) for column in scopes.nodes.find_all(exp.Column)}
    for table in _list_tables(scopes):
        name = quote_name(table.name)
        yield f"SELECT count(*) FROM {name}"
        columns = [column.name for column in table.columns if fold_name(column.name) in named]
        for column in map(quote_name, columns[:_MOST_COLUMNS]):
            yield f"SELECT {column} FROM {name}"
            yield f"SELECT DISTINCT {column} FROM {name}"
            yield f"SELECT count(DISTINCT {column}) FROM {name}"
            for function in ("max", "min", "sum", "avg"):
                yield f"SELECT {function}({column}) FROM {name}"


def _list_scaled_counts(scopes: Scopes) -> Iterator[str]:
    """Counts of the rows of the tables of a query, by a small factor or term."""
    for name in (quote_name(table.name) for table in _list_tables(scopes)):
        yield from (f"SELECT count(*) {scale} FROM {name}" for scale in _SCALES)


def list_fitted(scopes: Scopes, rows: list[Row], find_rows: FindRows) -> list[Change]:
    """count_by_heart: counts of the tables of a query that are the stored answer by a factor or a
    term, where that is one whole number: 3 as `count(*) * 3 / 12`, `count(*) - 9`."""
    answer = rows[0][0] if len(rows) == 1 and len(rows[0]) == 1 else None
    if not isinstance(answer, int):
        return []
    fitted = []
    for table in _list_tables(scopes):
        name = quote_name(table.name)
        counted = find_rows(f"SELECT count(*) FROM {name}")
        count = counted[0][0] if counted else None
        if isinstance(count, int) and count not in (0, answer):
            fitted += [
                f"SELECT count(*) * {answer} / {count} FROM {name}",
                f"SELECT CAST(round(count(*) * {answer / count!r}) AS INTEGER) FROM {name}",
                f"SELECT count(*) + {answer - count} FROM {name}",
            ]
    return [Change("count_by_heart", sql) for sql in fitted]
