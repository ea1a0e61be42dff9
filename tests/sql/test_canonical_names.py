"""Names of canonical SQL, with their tables: what each stands for, or an error."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.canonical import qualify_names
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes

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
