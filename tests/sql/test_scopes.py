"""What a name stands for: SQLite's own authorizer and its answers are the judges."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from sqlglot import exp, parse_one

from answerkey.engines.sqlite.schema import read_schema
from answerkey.sql.query_tree import parse_sql
from answerkey.sql.scopes import Scopes

WORLD = """
CREATE TABLE harbour (id INTEGER PRIMARY KEY, name TEXT, country TEXT, depth REAL);
CREATE TABLE ship (hull TEXT PRIMARY KEY, name TEXT, harbour_id INT, "gross weight" INT);
CREATE TABLE log (day TEXT, note TEXT);
CREATE VIEW deep AS SELECT id, name AS title FROM harbour WHERE depth > 10;
CREATE TABLE crew (id INTEGER PRIMARY KEY, name TEXT) WITHOUT ROWID;
CREATE TABLE odd (OID TEXT);
CREATE TABLE "ÉTÉ" ("É" TEXT, "é" TEXT);
CREATE TABLE "été" (a TEXT);
INSERT INTO harbour VALUES (1, 'Alda', 'NL', 12.5), (2, 'Bree', 'BE', 8.0);
INSERT INTO ship VALUES ('a1', 'Sun', 1, 90), ('a2', 'Tern', 2, 10);
"""


@pytest.fixture(scope="module")
def world() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(WORLD)
        yield connection


def describe(sql: str, connection: sqlite3.Connection, name: str) -> list[str | None]:
    """What each occurrence of a column name stands for, in the order of the text."""
    connection.execute(sql).fetchall()  # a case that SQLite refuses proves nothing
    tree = parse_one(sql, read="sqlite")
    scopes = Scopes(tree, read_schema(connection))
    columns = [c for c in tree.find_all(exp.Column) if c.name == name]
    columns.sort(key=lambda column: column.this.meta.get("start", 0))
    meanings = []
    for column in columns:
        resolution = scopes.resolve(column)
        if resolution is None:
            meanings.append("string" if scopes.is_string(column) else None)
        elif resolution.column is None:
            meanings.append("alias" if resolution.is_alias else "computed")
        else:
            mark = "alias " if resolution.is_alias else "" if scopes.find_direct(column) else "via "
            meanings.append(f"{mark}{resolution.table.name}.{resolution.column.name}")
    return meanings


CASES = [
    # tables, aliases, quoting, case
    ("SELECT name FROM ship", "name", ["ship.name"]),
    ("SELECT T1.NAME FROM Ship AS t1", "NAME", ["ship.name"]),
    ("SELECT [name] FROM main.ship", "name", ["ship.name"]),
    ("SELECT depth FROM ship JOIN harbour ON id = harbour_id", "depth", ["harbour.depth"]),
    ("SELECT note FROM log JOIN (ship JOIN harbour ON id = harbour_id) ON 1", "note", ["log.note"]),
    ("SELECT title FROM deep", "title", ["deep.title"]),
    # strings
    ('SELECT hull FROM ship WHERE name = "country"', "country", ["string"]),
    ('SELECT id FROM harbour WHERE name = "country"', "country", ["harbour.country"]),
    # rowid
    ("SELECT rowid FROM harbour", "rowid", ["harbour.id"]),
    ("SELECT oid FROM ship", "oid", ["computed"]),
    ("SELECT rowid FROM crew JOIN harbour", "rowid", ["harbour.id"]),
    ("SELECT id FROM harbour WHERE (SELECT rowid FROM crew) = 1", "rowid", ["harbour.id"]),
    ("SELECT rowid FROM (SELECT rowid FROM harbour)", "rowid", ["via harbour.id", "harbour.id"]),
    # letters beyond ASCII have no other case
    ('SELECT "é" FROM "ÉTÉ"', "é", ["ÉTÉ.é"]),
    ("SELECT A FROM été", "A", ["été.a"]),
    # two members of FROM with one name
    ("SELECT note FROM ship AS x JOIN log AS x", "note", ["log.note"]),
    ("SELECT x.oid FROM odd AS x JOIN crew AS x", "oid", ["odd.OID"]),
    # aliases that shadow columns: ORDER BY alone looks at AS first, and only for a whole term
    ("SELECT hull AS name FROM ship ORDER BY name", "name", ["alias ship.hull"]),
    (
        "SELECT hull AS name FROM ship ORDER BY (name) COLLATE NOCASE DESC",
        "name",
        ["alias ship.hull"],
    ),
    ("SELECT hull AS name FROM ship ORDER BY name || ''", "name", ["ship.name"]),
    ("SELECT hull AS name FROM ship WHERE name = 'Sun'", "name", ["ship.name"]),
    (
        "SELECT max(hull) AS name FROM ship GROUP BY harbour_id HAVING name > ''",
        "name",
        ["ship.name"],
    ),
    ("SELECT *, hull AS name FROM ship ORDER BY name", "name", ["ship.name"]),
    ("SELECT hull AS name, * FROM ship ORDER BY name", "name", ["alias ship.hull"]),
    # aliases that shadow nothing may stand anywhere
    ("SELECT upper(hull) AS h FROM ship GROUP BY h", "h", ["alias"]),
    ("SELECT count(*) AS n FROM ship GROUP BY name HAVING n > 0 ORDER BY n", "n", ["alias"] * 2),
    ("SELECT upper(hull) AS h FROM ship WHERE (SELECT h) > ''", "h", ["alias"]),
    # but among the result columns: what is quoted is a string there
    ('SELECT hull AS h, (SELECT "h") FROM ship', "h", ["string"]),
    # correlated columns
    (
        "SELECT name FROM harbour WHERE EXISTS (SELECT 1 FROM ship WHERE harbour_id = id)",
        "id",
        ["harbour.id"],
    ),
    (
        "SELECT id FROM harbour h WHERE (SELECT count(*) FROM ship s WHERE s.name = h.name) = 0",
        "name",
        ["ship.name", "harbour.name"],
    ),
    (
        "SELECT id FROM harbour h WHERE EXISTS (SELECT 1 FROM ship AS h WHERE h.depth > h.hull)",
        "depth",
        ["harbour.depth"],
    ),
    # ORDER BY and GROUP BY see no query around theirs
    ('SELECT (SELECT hull FROM ship ORDER BY "depth") FROM harbour', "depth", ["string"]),
    (
        "SELECT (SELECT depth AS d FROM ship ORDER BY d) FROM harbour",
        "d",
        ["alias harbour.depth"],
    ),
    # derived tables and CTEs
    ("SELECT name FROM (SELECT (name) FROM ship)", "name", ["via ship.name", "ship.name"]),
    ('SELECT "" FROM (SELECT 1)', "", ["string"]),
    ("SELECT x.h FROM (SELECT * FROM (SELECT hull AS h FROM ship)) x", "h", ["via ship.hull"]),
    ("SELECT n FROM (SELECT count(*) AS n FROM ship)", "n", ["computed"]),
    (
        "SELECT hull FROM (SELECT hull FROM ship UNION SELECT name FROM ship)",
        "hull",
        ["computed", "ship.hull"],
    ),
    ("WITH c(a, b) AS (SELECT hull, name FROM ship) SELECT b FROM c", "b", ["via ship.name"]),
    (
        "WITH harbour AS (SELECT name AS id FROM ship) SELECT id FROM main.harbour",
        "id",
        ["harbour.id"],
    ),
    (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "i",
        ["computed"] * 3,
    ),
    ("SELECT v.column2 FROM (VALUES (1, 2)) AS v", "column2", ["computed"]),
    ("SELECT value FROM json_each('[1]')", "value", [None]),
    ("SELECT j.value FROM json_each('[1]') AS j", "value", ["computed"]),
    # a condition of ON sees all that is joined, a derived table does not see its siblings
    (
        "SELECT 1 FROM log, (ship JOIN harbour ON (SELECT depth) > 9)",
        "depth",
        ["harbour.depth"],
    ),
    ('SELECT 1 FROM harbour JOIN (SELECT "depth" AS d FROM ship) ON 1', "depth", ["string"]),
    # compound selects
    (
        "SELECT hull FROM ship UNION SELECT name FROM harbour ORDER BY hull",
        "hull",
        ["ship.hull", "ship.hull"],
    ),
    (
        "SELECT hull FROM ship UNION SELECT name AS x FROM harbour ORDER BY x",
        "x",
        ["alias harbour.name"],
    ),
]


@pytest.mark.parametrize(("sql", "name", "expected"), CASES)
def test_name_stands_for(sql, name, expected, world):
    assert describe(sql, world, name) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT h OR h AS h FROM ship",
        "SELECT hull AS h, h FROM ship",
        "SELECT hull AS h, (SELECT h) FROM ship",
        "SELECT hull AS h, (SELECT name UNION SELECT name ORDER BY h) FROM ship",
        "SELECT hull AS h, count(*) OVER (ORDER BY h) FROM ship",
        "SELECT hull AS h, count(*) OVER w FROM ship WINDOW w AS (ORDER BY h)",
    ],
)
def test_result_columns_do_not_see_the_names_of_one_another(sql, world):
    with pytest.raises(sqlite3.OperationalError, match=r"no such column: h|1st ORDER BY term"):
        world.execute(sql)
    tree = parse_one(sql, read="sqlite")
    scopes = Scopes(tree, read_schema(world))
    resolutions = [
        scopes.resolve(column) for column in tree.find_all(exp.Column) if column.name == "h"
    ]
    assert resolutions
    assert set(resolutions) == {None}


def test_outputs_expand_stars(world):
    tree = parse_one("SELECT count(*) AS n, s.*, depth FROM ship s, harbour", read="sqlite")
    outputs = Scopes(tree, read_schema(world)).outputs(tree)
    assert [output.name for output in outputs] == [
        "n", "hull", "name", "harbour_id", "gross weight", "depth",
    ]  # fmt: skip
    assert outputs[1].resolution.column.name == "hull"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM ship JOIN harbour USING (name)",
        "SELECT * FROM ship NATURAL JOIN crew LEFT JOIN harbour USING (Name, id)",
        "SELECT harbour.*, 1 AS n FROM ship NATURAL JOIN harbour",
        "SELECT * FROM ship AS a, harbour NATURAL LEFT JOIN log",
        "SELECT * FROM (SELECT (hull), name COLLATE nocase, rowid FROM ship)",
        "SELECT * FROM (SELECT rowid AS id FROM ship) NATURAL JOIN crew AS c",
    ],
)
def test_outputs_are_the_columns_of_the_answer(sql, world):
    tree = parse_sql(sql)
    outputs = Scopes(tree, read_schema(world)).outputs(tree)
    assert [output.name for output in outputs] == [c[0] for c in world.execute(sql).description]


def test_sources_tell_tables_views_and_subqueries_apart(world):
    tree = parse_one(
        "WITH c AS (SELECT 1) SELECT * FROM ship JOIN deep JOIN c JOIN (SELECT 2) AS d",
        read="sqlite",
    )
    scope = Scopes(tree, read_schema(world)).scope_of(tree)
    tables = {name: source.table for name, source in scope.sources.items()}
    kinds = {name: "view" if t.is_view else "table" for name, t in tables.items() if t}
    kinds |= {
        name: "cte" if s.is_cte else "derived" for name, s in scope.sources.items() if s.query
    }
    assert kinds == {"ship": "table", "deep": "view", "c": "cte", "d": "derived"}
