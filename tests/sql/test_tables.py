"""tables: which tables a query reads, by SQLite's own rules."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
import sqlglot

from answerkey.sql.parsed_query import extract_tables_involved
from answerkey.sqlite.schema import Schema, read_schema

WORLD = """
CREATE TABLE Ship (id INTEGER PRIMARY KEY, name TEXT, port_id INTEGER, tags TEXT);
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE mast (id INTEGER);
CREATE TABLE "two words" (x);
CREATE TABLE [order] (a);
CREATE INDEX by_name ON ship (name);
CREATE VIEW fleet AS SELECT * FROM ship;
"""
CASES = [
    ("SELECT name FROM ship", ["Ship"]),
    ('SELECT name FROM "SHIP"', ["Ship"]),
    ("SELECT name FROM `ship`", ["Ship"]),
    ("SELECT name FROM [ship]", ["Ship"]),
    ("SELECT name FROM 'ship'", ["Ship"]),
    ("SELECT name FROM main.ship", ["Ship"]),
    ('SELECT name FROM "main"."ship"', ["Ship"]),
    ('SELECT x FROM "two words"', ["two words"]),
    ("SELECT a FROM [order]", ["order"]),
    ("SELECT count(*) FROM ship", ["Ship"]),
    ("SELECT count(*) FROM SHIP AS a JOIN ship AS b", ["Ship"]),
    # views count as themselves
    ("SELECT name FROM fleet", ["fleet"]),
    ("SELECT 1 FROM fleet JOIN ship", ["Ship", "fleet"]),
    # aliases
    ("SELECT port.name FROM ship AS port", ["Ship"]),
    ("SELECT p.id FROM (SELECT id FROM port) AS p", ["port"]),
    # joins and parentheses
    ("SELECT 1 FROM ship, port", ["Ship", "port"]),
    ("SELECT 1 FROM (ship JOIN port ON 1)", ["Ship", "port"]),
    ("SELECT 1 FROM ((ship))", ["Ship"]),
    ("SELECT 1 FROM ship LEFT JOIN (port CROSS JOIN mast) ON 1", ["Ship", "mast", "port"]),
    ("SELECT 1 FROM ship INDEXED BY by_name WHERE name = 'x'", ["Ship"]),
    ("SELECT 1 FROM ship AS s NOT INDEXED", ["Ship"]),
    # set operations and VALUES
    ("SELECT id FROM ship UNION SELECT id FROM port EXCEPT SELECT 1", ["Ship", "port"]),
    ("VALUES ((SELECT max(id) FROM ship))", ["Ship"]),
    ("SELECT 1 FROM (VALUES (1), (2)) JOIN ship", ["Ship"]),
    ("SELECT 1", []),
    # subqueries wherever one can stand
    ("SELECT (SELECT max(id) FROM port) FROM ship", ["Ship", "port"]),
    ("SELECT 1 FROM ship WHERE EXISTS (SELECT 1 FROM port)", ["Ship", "port"]),
    ("SELECT 1 FROM ship WHERE id IN (SELECT id FROM port)", ["Ship", "port"]),
    ("SELECT 1 FROM ship JOIN port ON port.id = (SELECT id FROM mast)", ["Ship", "mast", "port"]),
    ("SELECT 1 FROM ship GROUP BY name HAVING 1 < (SELECT id FROM port)", ["Ship", "port"]),
    ("SELECT 1 FROM ship ORDER BY (SELECT id FROM port)", ["Ship", "port"]),
    ("SELECT 1 FROM ship LIMIT (SELECT count(*) FROM port)", ["Ship", "port"]),
    ("SELECT CASE WHEN 1 THEN (SELECT id FROM port) END FROM ship", ["Ship", "port"]),
    (
        "SELECT sum(id) FILTER (WHERE id IN (SELECT id FROM port))"
        " OVER (PARTITION BY (SELECT id FROM mast)) FROM ship",
        ["Ship", "mast", "port"],
    ),
    # x IN name reads a table
    ("SELECT 1 FROM ship WHERE id IN mast", ["Ship", "mast"]),
    ("SELECT 1 FROM ship WHERE id NOT IN main.mast", ["Ship", "mast"]),
    ('SELECT 1 FROM ship WHERE id IN "mast"', ["Ship", "mast"]),
    ("SELECT 1 FROM ship WHERE id IN 'mast'", ["Ship", "mast"]),
    ("SELECT 1 FROM ship WHERE id IN (port_id)", ["Ship"]),
    ("WITH mast AS (SELECT id FROM port) SELECT 1 FROM ship WHERE id IN mast", ["Ship", "port"]),
    # common table expressions
    ("WITH c AS (SELECT id FROM ship) SELECT id FROM C", ["Ship"]),
    ("WITH port AS (SELECT * FROM ship) SELECT * FROM port", ["Ship"]),
    ("WITH port AS (SELECT 1 AS id) SELECT * FROM main.port", ["port"]),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT id FROM port) SELECT * FROM a", ["port"]),
    ("WITH c AS (SELECT 1 AS id) SELECT id FROM ship UNION SELECT id FROM c", ["Ship"]),
    (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
        " SELECT i FROM n JOIN ship",
        ["Ship"],
    ),
    (
        "SELECT 1 FROM (WITH port AS (SELECT * FROM ship) SELECT * FROM port) JOIN port",
        ["Ship", "port"],
    ),
    (
        "WITH a AS (WITH port AS (SELECT * FROM ship) SELECT * FROM port) SELECT 1 FROM a, port",
        ["Ship", "port"],
    ),
    ("WITH c AS NOT MATERIALIZED (SELECT * FROM ship) SELECT * FROM c", ["Ship"]),
    # table-valued functions are no tables
    ("SELECT value FROM json_each('[1, 2]')", []),
    ("SELECT ship.id FROM ship, json_each(ship.tags) AS tag", ["Ship"]),
    ("SELECT name FROM pragma_table_info('port')", []),
    # names in literals, comments and identifiers
    ("SELECT 'FROM port' FROM ship -- JOIN mast", ["Ship"]),
    ("SELECT /* FROM port */ name FROM ship", ["Ship"]),
    ('SELECT name FROM ship WHERE name = "port"', ["Ship"]),
    ('SELECT name AS "FROM port JOIN mast" FROM ship', ["Ship"]),
]


@pytest.fixture(scope="module")
def connection():
    with contextlib.closing(sqlite3.connect(":memory:", cached_statements=0)) as opened:
        opened.executescript(WORLD)
        yield opened


def find_read_names(connection: sqlite3.Connection, sql: str) -> set[tuple[str, str | None]]:
    """What SQLite says that it reads: each name, with the view or CTE on whose behalf."""
    found = set()

    def note(action, table, _column, _database, on_behalf_of):
        if action == sqlite3.SQLITE_READ:
            found.add((table, on_behalf_of))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(note)
    try:
        connection.execute(sql)
    finally:
        connection.set_authorizer(None)
    return found


def explain_reads(schema: Schema, reads: set[tuple[str, str | None]]) -> list[str]:
    """The tables and views that a query itself names, out of what SQLite reads for it.

    What is read for a view belongs to the view. A CTE is not in the schema, nor is a table-valued
    function, and what is read for a CTE is named by the query.
    """
    views = {table.name.lower() for table in schema.tables if table.is_view}
    names = {on_behalf_of for _, on_behalf_of in reads if (on_behalf_of or "").lower() in views}
    names |= {name for name, on_behalf_of in reads if (on_behalf_of or "").lower() not in views}
    tables = {schema.find_table(name) for name in names} - {None}
    return sorted(table.name for table in tables)


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_tables_are_those_that_the_query_names(connection, sql, expected):
    assert extract_tables_involved(sql, schema=read_schema(connection)) == expected


# SQLite reports a CTE by its name alone: where that is a table's as well, the two look the same.
@pytest.mark.parametrize(
    ("sql", "expected"), [case for case in CASES if "port AS (" not in case[0]]
)
def test_tables_are_those_that_sqlite_reads(connection, sql, expected):
    schema = read_schema(connection)
    reads = find_read_names(connection, sql)
    ctes = {"mast"} if "mast AS (" in sql else set()
    reads = {(name, behalf) for name, behalf in reads if name not in ctes}
    assert explain_reads(schema, reads) == expected


def test_names_are_as_the_query_spells_them_without_a_schema():
    assert extract_tables_involved("SELECT * FROM Port JOIN ship JOIN PORT AS p") == [
        "Port",
        "ship",
    ]


def test_unknown_table_keeps_its_name(connection):
    schema = read_schema(connection)
    assert extract_tables_involved("SELECT * FROM Yard, ship", schema=schema) == ["Ship", "Yard"]


def test_sql_that_does_not_parse_is_an_error():
    with pytest.raises(sqlglot.errors.SqlglotError):
        extract_tables_involved("SELECT FROM WHERE")
