"""Attacks on test suites: the stored answer on the real database, and guesses elsewhere.

A prediction can distinguish the real database from those of its suite by their numbers of rows. So
the suite alone must reject every guess.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp
from suite_predictions import Question

from answerkey.alternatives.neighbors import list_neighbors
from answerkey.engines.schema import Schema, Table, quote_name
from answerkey.engines.sqlite.files import open_database
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.query_tree import parse_sql, to_sql, unwrap
from answerkey.suites.rivals import write_by_heart

_MOST_NEIGHBORS = 60  # of a query, as many as suites use
_GUESSES = range(21)
_MOST_COLUMNS = 6  # of a table, that bare queries show
_CLAUSES = (
    ("where",),
    ("having",),
    ("group", "having"),
    ("limit",),
    ("order", "limit"),
    ("distinct",),
    ("where", "having"),
    ("where", "group", "having", "order", "limit"),
)
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_ORDER_OPERATORS = ("order_dropped", "order_reversed")


class Real(NamedTuple):
    """The facts that an attack may use about a real database: its schema, and the rows of its
    tables by their quoted names."""

    schema: Schema
    counts: Mapping[str, int]


def read_real(path: Path) -> Real:
    """Read the schema of a database, and count its rows."""
    with open_database(path) as connection:
        schema = read_schema(connection)
        names = [quote_name(table.name) for table in schema.tables]
        counts = (connection.execute(f"SELECT count(*) FROM {name}").fetchone() for name in names)
        return Real(schema, {name: count for name, (count,) in zip(names, counts, strict=True)})


def guard(question: Question, real: Real, weak: str) -> str:
    """Return a query with the stored answer if all tables have their real rows, else a weak query.

    `SELECT * FROM (VALUES (42)) WHERE (SELECT count(*) FROM t) = 7 UNION ALL SELECT * FROM (SELECT
    1) WHERE NOT (SELECT count(*) FROM t) = 7`
    """
    counts = (f"(SELECT count(*) FROM {name}) = {count}" for name, count in real.counts.items())
    condition = " AND ".join(counts)
    known = f"SELECT * FROM ({write_by_heart(question.list_rows())}) WHERE {condition}"
    return f"{known} UNION ALL SELECT * FROM ({weak}) WHERE NOT ({condition})"


def list_small_guesses(question: Question, _real: Real) -> Iterator[str]:
    """Yield guesses: a small number, an empty text or NULL, if the answer is one value; no row; the
    most frequent value of the answer; and its first row."""
    rows = question.list_rows()
    if len(rows) == 1 and len(rows[0]) == 1:
        yield from (f"SELECT {guess}" for guess in (*_GUESSES, "''", "NULL"))
    yield f"SELECT {', '.join(['NULL'] * len(rows[0]))} WHERE 0"
    yield write_by_heart(Counter(rows).most_common(1)[0][:1])
    yield write_by_heart(rows[:1])


def list_weak_queries(question: Question, real: Real) -> Iterator[str]:
    """Yield the neighbors of gold, except those that change its order."""
    tree = parse_sql(question.gold_sql)
    for neighbor in list_neighbors(tree, real.schema, max_neighbors=_MOST_NEIGHBORS):
        if neighbor.name not in _ORDER_OPERATORS:
            yield neighbor.sql


def list_blunt_queries(question: Question, real: Real) -> Iterator[str]:
    """Yield gold without a clause, a join or a side of a set operation, or with another aggregate,
    and a column or an aggregate of one of its tables: queries that are not always neighbors."""
    tree = parse_sql(question.gold_sql)
    for select in list(tree.find_all(exp.Select)):
        for clauses in _CLAUSES:
            if any(select.args.get(clause) is not None for clause in clauses):
                yield _write_without(tree, select, clauses)
        joins = select.args.get("joins") or []
        for index in range(len(joins)):
            select.set("joins", joins[:index] + joins[index + 1 :])
            yield to_sql(tree)
        if joins:
            select.set("joins", joins)
    for node in list(tree.find_all(*_AGGREGATES)):
        for kind in _AGGREGATES:
            if type(node) is not kind and not isinstance(node.this, exp.Star):
                other = kind(this=node.this.copy())
                node.replace(other)
                yield to_sql(tree)
                other.replace(node)
    for operation in tree.find_all(exp.SetOperation):
        yield to_sql(operation.this)
        yield to_sql(operation.expression)
    if len(question.list_rows()[0]) == 1:
        yield from _list_bare_queries(tree, real.schema)


def _list_bare_queries(tree: exp.Expression, schema: Schema) -> Iterator[str]:
    named = {column.name.lower() for column in tree.find_all(exp.Column)}
    for table in _list_tables(tree, schema):
        name = quote_name(table.name)
        yield f"SELECT count(*) FROM {name}"
        columns = [column.name for column in table.columns if column.name.lower() in named]
        for column in map(quote_name, columns[:_MOST_COLUMNS]):
            yield f"SELECT {column} FROM {name}"
            yield f"SELECT DISTINCT {column} FROM {name}"
            yield f"SELECT count(DISTINCT {column}) FROM {name}"
            yield from (
                f"SELECT {kind}({column}) FROM {name}" for kind in ("max", "min", "sum", "avg")
            )


def _list_tables(tree: exp.Expression, schema: Schema) -> list[Table]:
    """Return the tables that a query reads."""
    named = {table.name.lower() for table in tree.find_all(exp.Table)}
    return [table for table in schema.tables if table.name.lower() in named]


def list_unordered_queries(question: Question, _real: Real) -> Iterator[str]:
    """Yield gold without an ORDER BY, and with it reversed."""
    tree = parse_sql(question.gold_sql)
    for node in list(tree.find_all(exp.Order)):
        for ordered in node.expressions:
            ordered.set("desc", not ordered.args.get("desc"))
        yield to_sql(tree)
        for ordered in node.expressions:
            ordered.set("desc", not ordered.args.get("desc"))
        yield _write_without(tree, node.parent, ("order",))


def list_scaled_counts(question: Question, real: Real) -> Iterator[str]:
    """Yield counts of the rows or of the distinct values of a table that gold reads, times or plus
    a number that makes it the stored answer, or a small number; if the answer is one whole
    number."""
    (answer, *others), *rows = question.list_rows()
    if others or rows or type(answer) is not int:
        return
    tree = parse_sql(question.gold_sql)
    for table in _list_tables(tree, real.schema):
        name = quote_name(table.name)
        count = real.counts[name]
        scales = ["* 2", "/ 2", "* 3", "/ 3", "+ 1", "- 1"]
        is_fitted = count not in (0, answer)  # a count that is the answer may be gold
        if is_fitted:
            scales += [f"+ {answer - count}", f"* {answer} / {count}"]
        yield from (f"SELECT count(*) {scale} FROM {name}" for scale in scales)
        if is_fitted:
            yield f"SELECT CAST(round(count(*) * {answer / count!r}) AS INTEGER) FROM {name}"


def _write_without(tree: exp.Expression, node: exp.Expression, clauses: tuple[str, ...]) -> str:
    own = {clause: node.args.get(clause) for clause in clauses}
    for clause in clauses:
        node.set(clause, None)
    text = to_sql(unwrap(tree))
    for clause, value in own.items():
        node.set(clause, value)
    return text


ATTACKS = {
    "a small guess": list_small_guesses,
    "a neighbor": list_weak_queries,
    "gold without a part, or a bare table": list_blunt_queries,
    "gold without its order": list_unordered_queries,
    "a scaled count": list_scaled_counts,
}
# Attacks that are right on the real database by their numbers, and no query that may be right.
FITTED = ("a scaled count",)
