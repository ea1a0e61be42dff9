"""Attacks on test suites: what says the stored answer on the real database, and guesses elsewhere.

A prediction can tell the real database from those of its suite by the numbers of its rows, so that
the suite alone must tell what is guessed from gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp
from suite_predictions import Question

from answerkey.alternatives.neighbors import list_neighbors
from answerkey.sql.query_tree import parse_sql, to_sql, unwrap
from answerkey.sqlite.files import open_database
from answerkey.sqlite.schema import Schema, quote_name, read_schema
from answerkey.suites.questions import write_by_heart

_MOST_NEIGHBORS = 60  # of a query, as many as suites are made for
_GUESSES = range(21)
_AGGREGATES = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_ORDER_OPERATORS = ("order_dropped", "order_reversed")


class Real(NamedTuple):
    """What an attack knows of a real database: its schema, and the rows of its tables by their
    quoted names."""

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
    """The stored answer where all tables have the rows of the real database, and else a weak query.

    `SELECT * FROM (VALUES (42)) WHERE (SELECT count(*) FROM t) = 7 UNION ALL SELECT * FROM (SELECT
    1) WHERE NOT (SELECT count(*) FROM t) = 7`
    """
    counts = (f"(SELECT count(*) FROM {name}) = {count}" for name, count in real.counts.items())
    condition = " AND ".join(counts)
    known = f"SELECT * FROM ({write_by_heart(question.list_rows())}) WHERE {condition}"
    return f"{known} UNION ALL SELECT * FROM ({weak}) WHERE NOT ({condition})"


def list_small_guesses(question: Question, _real: Real) -> Iterator[str]:
    """A small number, where the answer is one value."""
    rows = question.list_rows()
    if len(rows) == 1 and len(rows[0]) == 1:
        yield from (f"SELECT {guess}" for guess in _GUESSES)


def list_weak_queries(question: Question, real: Real) -> Iterator[str]:
    """The neighbors of gold, those left out that change its order."""
    tree = parse_sql(question.gold_sql)
    for neighbor in list_neighbors(tree, real.schema, max_neighbors=_MOST_NEIGHBORS):
        if neighbor.name not in _ORDER_OPERATORS:
            yield neighbor.sql


def list_blunt_queries(question: Question, _real: Real) -> Iterator[str]:
    """Gold without a clause, or with another aggregate: queries that no neighbor has to be."""
    tree = parse_sql(question.gold_sql)
    for select in list(tree.find_all(exp.Select)):
        for clauses in (("where",), ("having",), ("group", "having"), ("limit",), ("distinct",)):
            if any(select.args.get(clause) is not None for clause in clauses):
                yield _write_without(tree, select, clauses)
    for node in list(tree.find_all(*_AGGREGATES)):
        for kind in _AGGREGATES:
            if type(node) is not kind:
                other = kind(this=node.this.copy())
                node.replace(other)
                yield to_sql(tree)
                other.replace(node)


def list_unordered_queries(question: Question, _real: Real) -> Iterator[str]:
    """Gold without an ORDER BY, and with it reversed."""
    tree = parse_sql(question.gold_sql)
    for node in list(tree.find_all(exp.Order)):
        for ordered in node.expressions:
            ordered.set("desc", not ordered.args.get("desc"))
        yield to_sql(tree)
        for ordered in node.expressions:
            ordered.set("desc", not ordered.args.get("desc"))
        yield _write_without(tree, node.parent, ("order",))


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
    "gold without a clause, or with another aggregate": list_blunt_queries,
    "gold without its order": list_unordered_queries,
}
