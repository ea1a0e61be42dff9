"""Laws that hold for the queries that SQLite runs, tried on a thousand of them at random."""

import contextlib
import itertools
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from sqlglot import exp
from sqlglot.errors import SqlglotError

from answerkey.engines.database import QueryError
from answerkey.engines.schema import Schema
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.canonical import canonical_tree, write_sql
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes
from tests.shared.random_queries import WORLD, QueryMaker

QUERIES = 1000


class Case(NamedTuple):
    """A query, its rows and its tree."""

    sql: str
    answer: list[tuple]
    tree: exp.Expression


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("random") / "world.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(WORLD)
    connection.close()
    return path


@pytest.fixture(scope="module")
def world(path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, cached_statements=0)) as connection:
        yield connection


@pytest.fixture(scope="module")
def cases(world) -> list[Case]:
    """The queries that run and parse."""
    cases = []
    for seed in range(QUERIES):
        sql = QueryMaker(seed).make_query()
        with contextlib.suppress(sqlite3.Error, SqlglotError):
            cases.append(Case(sql, world.execute(sql).fetchall(), parse_sql(sql)))
    assert len(cases) > QUERIES / 2
    return cases


def test_canonical_sql_answers_as_the_query_does(world, cases):
    schema = read_schema(world)
    for sql, answer, tree in cases:
        canonical = write_sql(canonical_tree(Scopes(tree, schema)))
        assert Counter(world.execute(canonical).fetchall()) == Counter(answer), sql


def test_columns_are_those_that_sqlite_reads(world, cases):
    schema = read_schema(world)
    for sql, _, tree in cases:
        scopes = Scopes(tree, schema)
        resolutions = [scopes.resolve(column) for column in tree.find_all(exp.Column)]
        outputs = (scopes.outputs(select) for select in tree.find_all(exp.Select))
        resolutions += [output.resolution for output in itertools.chain(*outputs)]
        columns = {
            f"{resolution.table.name}.{resolution.column.name}"
            for resolution in resolutions
            if resolution and resolution.column
        }
        assert find_read_columns(world, schema, sql) <= columns, sql


def find_read_columns(world: sqlite3.Connection, schema: Schema, sql: str) -> set[str]:
    """Each column that SQLite says it reads, but those which it reads for a view."""
    columns_read = set()

    def note(action, table, column, _database, view):
        if action == sqlite3.SQLITE_READ and column and view != "v":
            known = schema.find_table(table)
            if column != "ROWID":
                columns_read.add(f"{known.name}.{known.find_column(column).name}")
        return sqlite3.SQLITE_OK

    world.set_authorizer(note)
    try:
        world.execute(f"EXPLAIN {sql}")
    finally:
        world.set_authorizer(None)
    return columns_read


def test_guard_answers_as_sqlite_does(path, cases):
    with GuardedDatabase(path) as database:
        for sql, answer, _ in cases:
            if any(isinstance(value, bytes) for row in answer for value in row):
                with pytest.raises(QueryError, match="a BLOB"):
                    database.execute(sql)
            else:
                assert database.execute(sql) == answer, sql
