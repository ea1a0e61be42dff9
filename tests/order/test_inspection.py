"""The copy of a database that holds the same rows in the reverse order, and changes nothing else;
and row_order_dependent, which asks it."""

import sqlite3
from contextlib import closing

import pytest

from answerkey.doubts.row_order_dependent import find_row_order_dependent
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite import reordered
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.order.inspection import ReorderedCopy
from tests.shared.probe_world import ProbeWorld

NUMBERS = ", ".join(f"({n}, 'n{n}', {n % 3}, {n}.1)" for n in range(60))
WORLD = f"""
CREATE TABLE plain (n INT, name TEXT, part INT, x REAL);
INSERT INTO plain VALUES {NUMBERS};
CREATE TABLE keyed (n INTEGER PRIMARY KEY, name TEXT, part INT, x REAL);
INSERT INTO keyed VALUES {NUMBERS};
CREATE TABLE ordered (
    part INT, n INT, name TEXT COLLATE NOCASE UNIQUE, PRIMARY KEY (part, n)
) WITHOUT ROWID;
INSERT INTO ordered SELECT part, n, name FROM plain;
CREATE TABLE mixed (label TEXT COLLATE NOCASE);
INSERT INTO mixed VALUES ('a'), ('A'), ('b'), ('B'), ('c'), ('C');
CREATE TABLE untyped (v);
INSERT INTO untyped VALUES (1), (1.0), (1), (1.0);
"""
CASES = [
    # the rows that come, or what they hold, depend on the storage
    ("SELECT name FROM plain LIMIT 1", "rows"),
    ("SELECT name FROM keyed LIMIT 1", "rows"),
    ("SELECT group_concat(name) FROM plain", "rows"),
    ("SELECT name, count(*) FROM plain", "rows"),
    ("SELECT name FROM plain ORDER BY part LIMIT 1", "rows"),
    ("SELECT n FROM plain WHERE n = (SELECT n FROM plain WHERE part = 1)", "rows"),
    ("SELECT name, row_number() OVER (ORDER BY part) FROM keyed", "rows"),
    ("SELECT DISTINCT label FROM mixed", "rows"),
    ("SELECT min(label) FROM mixed", "rows"),
    ("SELECT DISTINCT v FROM untyped", "rows"),  # 1 or 1.0
    ("SELECT name FROM plain ORDER BY row_number() OVER ()", "sequence"),
    # the same rows in another order, which is no part of the answer
    ("SELECT name FROM plain", None),
    ("SELECT name, part FROM plain ORDER BY part", None),  # ties come in any order
    ("SELECT part, count(*), sum(n), max(name) FROM plain GROUP BY part", None),
    ("SELECT avg(x), sum(x), total(x) FROM plain", None),
    ("SELECT name, max(n) FROM plain", None),
    ("SELECT a.name FROM plain a JOIN keyed b ON a.n = b.n WHERE b.part = 1", None),
    ("SELECT part FROM plain GROUP BY part ORDER BY count(*) LIMIT 1", None),  # sorted by groups
    ("SELECT name FROM ordered WHERE name IN ('N3', 'n4') ORDER BY name", None),
    # no copy: it has other rowids and other statements
    ("SELECT rowid, name FROM keyed", None),
    ("SELECT count(*), group_concat(sql) FROM [SQLite_master] WHERE tbl_name = 'mixed'", None),
]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("rows"), WORLD) as world, world.copied():
        yield world


@pytest.mark.parametrize(("sql", "expected"), CASES)
def test_row_order_dependent(world, sql, expected):
    finding = world.find(find_row_order_dependent, sql)
    assert (finding and finding.evidence["differs_in"]) == expected


def test_evidence_leaves_out_rows_that_both_sides_have(tmp_path):
    sql = "CREATE TABLE t (k, v); INSERT INTO t VALUES (1, 'a'), (1, 'b'), (2, 'c');"
    with ProbeWorld(tmp_path, sql) as world, world.copied():
        finding = world.find(find_row_order_dependent, "SELECT k, v FROM t GROUP BY k")
    answers = [finding.evidence["answer"], finding.evidence["other_answer"]]
    assert sorted(answers) == [[[1, "a"]], [[1, "b"]]]


HARD_WORLD = """
CREATE TABLE plain (a, b BLOB, c TEXT, d INT GENERATED ALWAYS AS (length(b)) STORED, UNIQUE (c));
INSERT INTO plain (a, b, c) VALUES
    (1, x'00ff', 'x'), (2.5, x'', CAST(x'ff80' AS TEXT)), (NULL, x'01', 'z'), ('', NULL, NULL);
CREATE INDEX by_length ON plain (length(b)) WHERE a IS NOT NULL;
CREATE TABLE keyed (id INTEGER PRIMARY KEY AUTOINCREMENT, v);
INSERT INTO keyed (v) VALUES ('p'), ('q');
CREATE TABLE wide (rowid TEXT, _rowid_ TEXT, oid TEXT);
INSERT INTO wide VALUES ('r1', 'r2', 'r3');
CREATE TABLE checked (k TEXT, v INT CHECK (v > 0));
INSERT INTO checked VALUES ('h', 1), ('g', 2), ('f', 3);
CREATE TABLE without (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO without VALUES ('k', 1);
CREATE TABLE strict (k TEXT PRIMARY KEY, v TEXT COLLATE NOCASE, w TEXT AS (k || v))
STRICT, WITHOUT ROWID;
INSERT INTO strict VALUES ('1.0', 'a'), ('1', 'A'), ('x', NULL), ('2', CAST(x'ff80' AS TEXT));
CREATE INDEX by_v ON strict (v DESC) WHERE v IS NOT NULL;
CREATE TABLE "sp ""ace" (v);
INSERT INTO "sp ""ace" VALUES (1), (2), (3), (4), (5), (6);
CREATE VIRTUAL TABLE words USING fts5(body);
INSERT INTO words VALUES ('one two'), ('two three');
CREATE VIEW v AS SELECT a FROM main.plain;
CREATE TRIGGER loud AFTER UPDATE ON plain BEGIN INSERT INTO keyed (v) VALUES ('triggered'); END;
"""
EVERYTHING = (
    "SELECT typeof(a), a, hex(b), hex(c), d FROM plain",
    "SELECT * FROM keyed",
    "SELECT * FROM wide",
    "SELECT * FROM checked",
    "SELECT * FROM without",
    "SELECT typeof(k), hex(k), hex(v), hex(w) FROM strict",
    "SELECT count(*) FROM strict WHERE v = 'a'",
    'SELECT * FROM "sp ""ace"',
    "SELECT * FROM v",
    "SELECT count(*) FROM plain WHERE length(b) = 1 AND a IS NOT NULL",
)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16be"])
def test_copy_holds_the_same_rows_in_another_order(tmp_path, encoding):
    path = tmp_path / "hard.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        start = f"PRAGMA encoding = '{encoding}'; PRAGMA journal_mode = WAL;"
        connection.executescript(start + HARD_WORLD)
    before, moved = path.read_bytes(), 0
    with GuardedDatabase(path) as original, ReorderedCopy(path, folder=tmp_path) as copy:
        database = copy.find_database("SELECT 1")
        for sql in EVERYTHING:
            here, there = original.execute(sql), database.execute(sql)
            assert sorted(map(repr, here)) == sorted(map(repr, there)), sql
            moved += here != there
        with pytest.raises(QueryError, match="no such table: words"):
            database.execute("SELECT * FROM words")
        with closing(sqlite3.connect(database.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert moved >= 5
    assert path.read_bytes() == before
    assert not [*tmp_path.glob("reordered-*")]


def test_table_or_view_that_cannot_be_made_is_left_out(tmp_path):
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.create_function("ours", 1, abs, deterministic=True)  # here and nowhere else
        connection.executescript("""
            CREATE TABLE plain (n INT); INSERT INTO plain VALUES (1), (2);
            CREATE TABLE odd (n INT, m INT AS (ours(n))); INSERT INTO odd VALUES (1), (2);
            CREATE VIEW sound AS SELECT n FROM plain;
            CREATE VIEW gone AS SELECT n FROM nowhere;
            CREATE VIEW strange AS SELECT n FROM plain /* ? */;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = CAST(replace(sql, '?', x'ff') AS TEXT)
            WHERE name = 'strange'
        """)
    with ReorderedCopy(path) as copy:
        database = copy.find_database("SELECT 1")
        assert database.execute("SELECT * FROM sound") == [(2,), (1,)]
        assert database.execute("SELECT * FROM strange") == [(2,), (1,)]
        for name, message in (("odd", "no such table: odd"), ("gone", "nowhere")):
            with pytest.raises(QueryError, match=message):
                database.execute(f"SELECT * FROM {name}")


def test_view_that_names_the_rowid_has_no_copy(tmp_path):
    sql = "CREATE TABLE t (a); CREATE VIEW numbered AS SELECT oid AS number FROM t;"
    with ProbeWorld(tmp_path, sql) as world, world.copied() as copy:
        assert copy.find_database("SELECT number FROM numbered") is None


def test_large_database_is_not_copied(world, tmp_path, monkeypatch):
    monkeypatch.setattr(reordered, "_MAX_COPIED_BYTES", 1000)
    with world.copied(folder=tmp_path) as copy:
        assert copy.find_database("SELECT name FROM plain LIMIT 1") is None
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_read_before_a_query_asks(tmp_path):
    path = tmp_path / "none.sqlite"
    path.write_text("no database")
    with ReorderedCopy(path) as copy, pytest.raises(sqlite3.DatabaseError):
        copy.find_database("SELECT 1")
