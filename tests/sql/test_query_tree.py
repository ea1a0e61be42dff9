"""Trees of queries, their rewrites, which leave the tree as it is, and names with their tables."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from answerkey.sql.canonical import qualify_names
from answerkey.sql.query_tree import make_limit, parse_sql, to_sql, write_with
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import read_schema
from answerkey.sqlite.statement import trim_statement

QUERIES = [
    "SELECT name, count(*) FROM ship AS T1 WHERE id IN (SELECT 1) GROUP BY 1 ORDER BY 2 LIMIT 3",
    'WITH c(a) AS (VALUES (1), (2)) SELECT a FROM c UNION SELECT "b" FROM [t] -- done',
    "SELECT json_extract(a, '$.b[0]'), CAST(x AS INTEGER), a - -1, (a) + b, NOT a GLOB 1 FROM t;",
    "SELECT 1; SELECT 2",
]
BROKEN = ["", "SELECT FROM WHERE", "SELECT 'no end", "SELECT (1", "/* no end"]


def describe(parse, sql: str) -> str:
    """The tree in full; or the error, where there is none."""
    try:
        return repr(parse(sql))
    except SqlglotError as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("before", [*QUERIES, *BROKEN])
@pytest.mark.parametrize("sql", [*QUERIES, *BROKEN])
def test_tree_does_not_depend_on_what_was_parsed_before(before, sql):
    describe(parse_sql, before)
    expected = describe(lambda text: sqlglot.parse_one(trim_statement(text), read="sqlite"), sql)
    assert describe(parse_sql, sql) == expected


@pytest.mark.parametrize(
    ("declared", "kept"),
    [
        ("STRING", "NUM"),
        ("DECIMAL(5, 2)", "NUM"),
        ("unsigned big int", "INTEGER"),
        ("DOUBLE PRECISION", "REAL"),
        ('"my blob"', "BLOB"),
    ],
)
def test_type_of_a_cast_is_its_affinity(declared, kept):
    shown = "SELECT typeof(CAST('1.50' AS {})), CAST(7 AS {}) = '7'"
    tree = parse_sql(f"SELECT CAST(CAST(a AS {declared}) AS {declared}) FROM t")
    assert to_sql(tree) == f"SELECT CAST(CAST(a AS {kept}) AS {kept}) FROM t"
    with closing(sqlite3.connect(":memory:")) as connection:
        answers = [connection.execute(shown.format(t, t)).fetchall() for t in (declared, kept)]
    assert answers[0] == answers[1]


@pytest.mark.parametrize("sql", ["SELECT a -> FROM t", "SELECT ->>", 'SELECT char("")'])
def test_failure_inside_the_parser_is_an_error_of_the_text(sql):
    with pytest.raises(ParseError, match="parser fails"):
        parse_sql(sql)


# --- rewrites of a query leave its tree as it is


@pytest.mark.parametrize(
    ("sql", "clauses", "expected"),
    [
        (
            "SELECT i FROM t ORDER BY r LIMIT 2 OFFSET 1",
            {"limit": None, "offset": None},
            "SELECT i FROM t ORDER BY r",
        ),
        ("SELECT i FROM t LIMIT 2", {"limit": make_limit(9)}, "SELECT i FROM t LIMIT 9"),
        ("SELECT i FROM t", {"expressions": [exp.column("r")]}, "SELECT r FROM t"),
    ],
)
def test_query_has_its_own_clauses_again_after_it_was_written_with_others(sql, clauses, expected):
    query = parse_sql(sql)
    before = repr(query), list(map(id, query.walk())), list(query.args)
    assert write_with(query, **clauses) == expected
    assert (repr(query), list(map(id, query.walk())), list(query.args)) == before
    assert all(node.parent is query for node in query.iter_expressions())


WORLD = """
CREATE TABLE Ship (hull TEXT PRIMARY KEY, name TEXT, "gross weight" INT, escort TEXT);
CREATE TABLE ship_2 (id INTEGER PRIMARY KEY, hull TEXT);
INSERT INTO Ship VALUES ('a1', 'Sun', 90, 'a2'), ('a2', 'Tern', 10, NULL), ('a3', 'Sun', 5, 'a1');
INSERT INTO ship_2 VALUES (3, 'a1'), (4, 'a3');
"""
S, T, U = '"Ship"', '"Ship_2"', '"Ship_3"'
CASES = [
    ('SELECT "Sun" FROM ship', f"SELECT 'Sun' FROM {S}"),
    ("SELECT rowid FROM ship_2 x", 'SELECT "ship_2"."id" FROM "ship_2"'),
    # a name that is taken gets a number, which is no other table's name
    (
        "SELECT a.name FROM ship a, ship b, ship_2 WHERE b.hull = ship_2.hull",
        f'SELECT {S}."name" FROM {S} CROSS JOIN {S} AS {U} CROSS JOIN "ship_2"'
        f' WHERE {U}."hull" = "ship_2"."hull"',
    ),
    (
        "SELECT name FROM ship x WHERE EXISTS (SELECT 1 FROM ship WHERE escort = x.hull)",
        f'SELECT {S}."name" FROM {S} WHERE EXISTS'
        f'(SELECT 1 FROM {S} AS {T} WHERE {T}."escort" = {S}."hull")',
    ),
    # AS goes where its expression can stand in its place
    (
        "SELECT name AS n, count(*) FROM ship GROUP BY n ORDER BY 2, n",
        f'SELECT {S}."name", COUNT(*) FROM {S} GROUP BY ({S}."name")'
        f' ORDER BY (COUNT(*)), ({S}."name")',
    ),
]


@pytest.fixture(scope="module")
def world() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        yield connection


def qualify(sql: str, world: sqlite3.Connection) -> str:
    return qualify_names(Scopes(parse_sql(sql), read_schema(world))).sql("sqlite")


@pytest.mark.parametrize(("sql", "qualified"), CASES)
def test_names_say_what_they_stand_for(sql, qualified, world):
    assert qualify(sql, world) == qualified
    rows, expected = (world.execute(text).fetchall() for text in (qualified, sql))
    assert sorted(rows, key=repr) == sorted(expected, key=repr)


def test_tables_of_queries_inside_each_other_get_numbers(world):
    sql = "SELECT hull FROM ship"
    for level in range(6):
        sql = (
            f"SELECT a.hull FROM ship a JOIN ship b ON a.escort = b.hull"
            f" WHERE a.hull IN ({sql}) AND b.name <> '{level}'"
        )
    assert 'FROM "Ship" AS "Ship_13")' in qualify(sql, world)
    assert world.execute(qualify(sql, world)).fetchall() == world.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT nothing FROM ship", "unknown name nothing"),
        ("SELECT 1 FROM nowhere", "unknown table nowhere"),
        ("SELECT value FROM json_each('[1]')", "unknown table"),
        ('SELECT "count(*)" FROM (SELECT count(*) FROM ship)', "unknown name"),
        ("SELECT 1 FROM ship WHERE hull IN ship_2", "IN, WITH, ORDER BY or JOIN"),
        ("WITH ship AS (SELECT 1 AS a) SELECT a FROM ship", "IN, WITH, ORDER BY or JOIN"),
        ("SELECT hull FROM ship RIGHT JOIN ship_2 USING (hull)", "IN, WITH, ORDER BY or JOIN"),
        ("SELECT semi.hull FROM ship SEMI JOIN ship_2", "IN, WITH, ORDER BY or JOIN"),
        ("SELECT d.rowid FROM (SELECT rowid FROM ship_2) AS d", "rowid would be called id"),
        ("SELECT 1 FROM ship UNION SELECT 2 ORDER BY 1 + 1", "ORDER BY or JOIN"),
        ("SELECT 5 AS n FROM ship ORDER BY n", "5 cannot stand in the place of its name"),
        ("SELECT (SELECT 1) AS n FROM ship ORDER BY n", "cannot stand in the place"),
        ("SELECT hull FROM ship GROUP BY hull HAVING (SELECT h) > 1", "unknown name h"),
    ],
)
def test_what_cannot_be_said_otherwise_is_refused(sql, message, world):
    with pytest.raises(ValueError, match=message):
        qualify(sql, world)
