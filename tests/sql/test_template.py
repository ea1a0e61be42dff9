"""Templates: equal for queries that differ in literals and names only."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.sql.canonical import canonical_tree, write_template
from answerkey.sql.parser import parse_sql
from answerkey.sql.scopes import Scopes
from answerkey.sqlite.schema import Schema, read_schema

WORLD = """
CREATE TABLE harbour (id INTEGER PRIMARY KEY, Name TEXT, country TEXT, depth REAL);
CREATE TABLE ship (
  hull TEXT PRIMARY KEY, name TEXT, harbour_id INT, "gross weight" INT, escort TEXT);
CREATE TABLE "order" (id INTEGER PRIMARY KEY, ship_hull TEXT, "select" INT, day TEXT);
"""


@pytest.fixture(scope="module")
def schema() -> Schema:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        return read_schema(connection)


def templatize(sql: str, schema: Schema) -> str:
    return write_template(canonical_tree(Scopes(parse_sql(sql), schema)))


TEMPLATES = [
    ("SELECT name FROM ship WHERE hull = 'a1'", "SELECT t1.c1 FROM t1 WHERE t1.c2 = ?"),
    ("SELECT country FROM harbour WHERE id = -2.5", "SELECT t1.c1 FROM t1 WHERE t1.c2 = ?"),
    ("SELECT name FROM ship WHERE name = 'x'", "SELECT t1.c1 FROM t1 WHERE t1.c1 = ?"),
    ("SELECT hull FROM ship WHERE hull IN ('a', 'b')", "SELECT t1.c1 FROM t1 WHERE t1.c1 IN (?)"),
    ("SELECT hull FROM ship WHERE hull IN ('a')", "SELECT t1.c1 FROM t1 WHERE t1.c1 IN (?)"),
    ("SELECT hull FROM ship ORDER BY 1 LIMIT 3", "SELECT t1.c1 FROM t1 ORDER BY t1.c1 LIMIT ?"),
    ("SELECT 1 - 2, 'it''s', x'61'", "SELECT ? - ?, ?, ?"),
    (
        "SELECT a.name FROM ship a JOIN ship b ON a.escort = b.hull",
        "SELECT t1.c1 FROM t1, t1 AS t2 WHERE t1.c2 = t2.c3",
    ),
    (
        "SELECT a.name FROM ship a JOIN ship b ON b.escort = a.hull",
        "SELECT t1.c1 FROM t1, t1 AS t2 WHERE t1.c2 = t2.c3",
    ),
    (
        "SELECT s.name FROM harbour h JOIN ship s ON s.harbour_id = h.id WHERE h.depth > 3",
        "SELECT t1.c1 FROM t1, t2 WHERE t1.c2 = t2.c3 AND t2.c4 > ?",
    ),
    (
        'SELECT day FROM "order" o JOIN ship s ON o.ship_hull = s.hull WHERE "gross weight" > 9',
        "SELECT t1.c1 FROM t1, t2 WHERE t1.c2 = t2.c3 AND t2.c4 > ?",
    ),
    (
        'SELECT 1 FROM (VALUES (1)) AS "it\'s" NATURAL FULL JOIN ship AS "don\'t"',
        "SELECT ? FROM (VALUES (?)) AS t1 NATURAL FULL JOIN t2 AS t3",
    ),
    (
        "SELECT max(n) FROM (SELECT count(*) AS n FROM ship GROUP BY harbour_id)",
        "SELECT MAX(t1.c1) FROM (SELECT COUNT(*) AS c1 FROM t2 GROUP BY t2.c2) AS t1",
    ),
]


@pytest.mark.parametrize(("sql", "template"), TEMPLATES)
def test_template_has_no_names_and_no_literals(sql, template, schema):
    assert templatize(sql, schema) == template


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("SELECT max(depth) FROM harbour", "SELECT min(depth) FROM harbour"),
        ("SELECT name FROM ship ORDER BY hull", "SELECT name FROM ship ORDER BY hull DESC"),
        ("SELECT name FROM ship ORDER BY hull", "SELECT name FROM ship ORDER BY name"),
        ("SELECT name, hull FROM ship", "SELECT name, name FROM ship"),
        ("SELECT hull FROM ship WHERE name = 'x'", "SELECT hull FROM ship WHERE name <> 'x'"),
        ("SELECT 'FROM ship' FROM ship", "SELECT 'x', 'y' FROM ship"),
    ],
)
def test_template_keeps_what_a_query_does(left, right, schema):
    assert templatize(left, schema) != templatize(right, schema)
