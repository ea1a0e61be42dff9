"""What the guard lets through and what it refuses; its bounds are in test_bounds.py."""

import contextlib
import hashlib
import itertools
import pickle
import sqlite3

import pytest

from answerkey.base.reasons import Reason
from answerkey.engines.database import Limits, QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase
from tests.shared.databases import make_database

SCHEMA = """
CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT, built TEXT, random INTEGER,
  twice INTEGER GENERATED ALWAYS AS (id * 2) VIRTUAL);
CREATE TABLE crew (ship_id INTEGER, rank TEXT, PRIMARY KEY (ship_id, rank)) WITHOUT ROWID;
CREATE INDEX ship_by_name ON ship (name);
CREATE VIEW fleet AS SELECT name, date(built) AS day FROM ship;
CREATE VIEW "old Fleet" AS SELECT name FROM ship WHERE built < date('now', '-50 years');
CREATE VIEW oldest AS SELECT name FROM "old Fleet";
CREATE VIEW ÉTÉ AS SELECT date('now');
CREATE VIEW été AS SELECT date(built) FROM ship;
CREATE VIEW launch AS WITH "début" AS (SELECT date('now') AS day) SELECT day FROM "début";
CREATE VIEW docked AS WITH quay (day) AS MATERIALIZED (SELECT date('now')) SELECT * FROM quay;
CREATE VIEW "début" AS SELECT 1 AS day;
CREATE VIEW quay AS SELECT 1 AS day;
CREATE TRIGGER sink AFTER INSERT ON ship BEGIN DELETE FROM crew; END;
INSERT INTO ship (id, name, built, random) VALUES (1, 'Sun', '1912-04-10', 7), (2, 'now', NULL, 8);
INSERT INTO crew VALUES (1, 'cook'), (1, 'mate');
"""


def fingerprint(folder):
    """Every file of a folder with its sha256."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A guarded database, alone in the working directory, which must be untouched in the end."""
    folder = tmp_path_factory.mktemp("fleet")
    path = make_database(folder / "fleet.sqlite", SCHEMA)
    before = fingerprint(folder)
    with GuardedDatabase(path, Limits(max_steps=1_000_000)) as guarded:
        yield guarded
    assert fingerprint(folder) == before


@pytest.fixture
def database(opened, monkeypatch):
    monkeypatch.chdir(opened.path.parent)
    before = sorted(opened.path.parent.iterdir())
    yield opened
    assert sorted(opened.path.parent.iterdir()) == before


def reason_of(database, sql):
    with pytest.raises(QueryError) as caught:
        database.execute(sql)
    assert caught.value.detail
    return caught.value.reason


WRITING = """
INSERT INTO ship (id, name) VALUES (3, 'Tern')
INSERT INTO ship (id) VALUES (3) RETURNING id
INSERT INTO ship (id) VALUES (1) ON CONFLICT DO UPDATE SET name = 'x'
REPLACE INTO ship (id) VALUES (1)
UPDATE ship SET name = 'x'
UPDATE ship SET name = 'x' RETURNING name
DELETE FROM ship
DELETE FROM ship RETURNING id
WITH a AS (SELECT 3 AS id) INSERT INTO ship (id) SELECT id FROM a
WITH a AS (SELECT 1) DELETE FROM ship
WITH a AS (SELECT 1) UPDATE ship SET name = 'x'
INSERT INTO fleet VALUES (1, 2)
INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)
CREATE TABLE t (a)
CREATE TABLE t AS SELECT * FROM ship
CREATE TEMP TABLE t (a)
CREATE VIEW v AS SELECT 1
CREATE TEMP VIEW v AS SELECT 1
CREATE INDEX i ON ship (built)
CREATE TRIGGER g AFTER DELETE ON ship BEGIN SELECT 1; END
CREATE VIRTUAL TABLE f USING fts5(x)
ALTER TABLE ship RENAME TO boat
ALTER TABLE ship ADD COLUMN x
ALTER TABLE ship DROP COLUMN built
DROP TABLE ship
DROP VIEW fleet
DROP INDEX ship_by_name
DROP TRIGGER sink
ATTACH DATABASE 'other.sqlite' AS other
ATTACH ':memory:' AS other
DETACH DATABASE main
VACUUM
VACUUM INTO 'copy.sqlite'
REINDEX
REINDEX ship
ANALYZE
ANALYZE ship
BEGIN
BEGIN IMMEDIATE
COMMIT
END
ROLLBACK
SAVEPOINT a
RELEASE a
PRAGMA user_version
PRAGMA user_version = 7
PRAGMA table_info(ship)
PRAGMA writable_schema = ON
PRAGMA query_only
PRAGMA hard_heap_limit
PRAGMA temp_store_directory = '.'
SELECT * FROM pragma_table_info('ship')
SELECT * FROM pragma_user_version
SELECT name FROM pragma_function_list
SELECT (SELECT count(*) FROM pragma_database_list)
EXPLAIN SELECT 1
EXPLAIN QUERY PLAN SELECT * FROM ship
explain query plan select 1
/* why */ EXPLAIN SELECT 1
/**//***/EXPLAIN SELECT 1
/*/*/EXPLAIN SELECT 1
;EXPLAIN SELECT 1
/* a */ ; ; EXPLAIN QUERY PLAN SELECT 1
EXPLAIN DELETE FROM ship
""".strip().splitlines()


@pytest.mark.parametrize(
    "sql",
    [
        *WRITING,
        *("", " \n\t ", ";", ";;;", "-- nothing", "/* nothing */", "/* open", "--\n;\n"),
        *("-- why\nEXPLAIN SELECT 1", "\ufeffEXPLAIN SELECT 1", "\n\r\f\tEXPLAIN SELECT 1"),
    ],
)
def test_statement_that_is_no_select_is_refused(database, sql):
    assert reason_of(database, sql) is Reason.NOT_A_SELECT
    assert database.execute("SELECT count(*) FROM ship") == [(2,)]


def test_explain_is_refused_behind_every_character(database):
    """SQLite skips some characters before a statement; each of them must be known to the guard."""
    passed = []
    for code in itertools.chain(range(1, 0x3100), range(0xFE00, 0x10000)):
        for sql in (f"{chr(code)}EXPLAIN SELECT 1", f"EXPLAIN{chr(code)}SELECT 1"):
            with contextlib.suppress(QueryError):
                passed.append((hex(code), database.execute(sql)))
    assert passed == []


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT 1; SELECT 2", Reason.MULTIPLE_STATEMENTS),
        ("SELECT 1;; SELECT 2", Reason.MULTIPLE_STATEMENTS),
        ("SELECT 1; -- a comment\nSELECT 2", Reason.MULTIPLE_STATEMENTS),
        ("SELECT 1; DELETE FROM ship", Reason.MULTIPLE_STATEMENTS),
        ("SELECT 1; EXPLAIN SELECT 1", Reason.MULTIPLE_STATEMENTS),
        ("DELETE FROM ship; SELECT 1", Reason.NOT_A_SELECT),
        ("SELECT load_extension('x')", Reason.FORBIDDEN_FUNCTION),
        ("SELECT LOAD_EXTENSION('x', 'y')", Reason.FORBIDDEN_FUNCTION),
        ("SELECT fts3_tokenizer('simple')", Reason.FORBIDDEN_FUNCTION),
        ("SELECT name FROM ship WHERE load_extension('x')", Reason.FORBIDDEN_FUNCTION),
        ("SELECT writefile('x', 'y')", Reason.SQL_ERROR),
        ("SELECT ?", Reason.SQL_ERROR),
        ("SELECT ?1", Reason.SQL_ERROR),
        ("SELECT :a", Reason.SQL_ERROR),
        ("SELECT @a, $b", Reason.SQL_ERROR),
        ("SELECT 1\0", Reason.SQL_ERROR),
        ("SELECT '\0'", Reason.SQL_ERROR),
        ("SELECT '\ud800'", Reason.SQL_ERROR),
        ("SELECT FROM ship", Reason.SQL_ERROR),
        ("SELECT absent FROM ship", Reason.SQL_ERROR),
        ("SELECT * FROM absent", Reason.SQL_ERROR),
        ('SELECT s."You can only execute one statement at a time" FROM ship s', Reason.SQL_ERROR),
        ('SELECT s."Could not decode to UTF-8 column" FROM ship s', Reason.SQL_ERROR),
        ("SELECT sum(9223372036854775807) FROM ship", Reason.SQL_ERROR),
        ("SELECT x'00ff'", Reason.BLOB),
        ("SELECT name, zeroblob(3) FROM ship", Reason.BLOB),
        ("SELECT 9e999", Reason.NOT_FINITE),
        ("SELECT name, -9e999 FROM ship", Reason.NOT_FINITE),
        ("SELECT CAST(x'ff' AS TEXT)", Reason.UNDECODABLE_TEXT),
        ("SELECT 1, CAST(x'eda080' AS TEXT)", Reason.UNDECODABLE_TEXT),
        ("SELECT json_extract('{}', CAST(x'ff' AS TEXT))", Reason.UNDECODABLE_TEXT),
    ],
)
def test_query_without_an_answer_has_its_reason(database, sql, reason):
    assert reason_of(database, sql) is reason
    assert database.execute("SELECT count(*) FROM ship") == [(2,)]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 1;", [(1,)]),
        ("SELECT 1 ; \n", [(1,)]),
        ("SELECT 1;;;", [(1,)]),
        ("SELECT 1; -- a comment; SELECT 2", [(1,)]),
        ("SELECT 1 /* a comment", [(1,)]),
        ("-- first\n/* second; */ SELECT 1 -- third", [(1,)]),
        ("\ufeffSELECT 1", [(1,)]),
        (";SELECT 1", [(1,)]),
        ("SELECT 'a;'", [("a;",)]),
        ("SELECT 'EXPLAIN', 'DELETE FROM ship; --'", [("EXPLAIN", "DELETE FROM ship; --")]),
        ("VALUES (1, NULL), (2, 'x')", [(1, None), (2, "x")]),
        ("WITH a AS (SELECT name FROM ship) SELECT count(*) FROM a", [(2,)]),
        ("SELECT name, day FROM fleet ORDER BY 1", [("Sun", "1912-04-10"), ("now", None)]),
        ("SELECT twice FROM ship WHERE id = 2", [(4,)]),
        ("SELECT rank FROM crew ORDER BY 1", [("cook",), ("mate",)]),
        ("SELECT value FROM json_each('[1, 2.5]')", [(1,), (2.5,)]),
        ("SELECT count(*) FROM json_tree('[1, [2]]')", [(4,)]),
        ("SELECT name FROM sqlite_master WHERE type = 'trigger'", [("sink",)]),
        ("SELECT 9e999 - 9e999", [(None,)]),  # SQLite's NaN is NULL
        ("SELECT 1 WHERE 0", []),
    ],
)
def test_select_gives_its_rows(database, sql, rows):
    assert database.execute(sql) == rows
    assert database.execute(sql) == rows


NONDETERMINISTIC = [
    *("random()", "RANDOM()", '"random"()', "randomblob(4)", "abs(random())", "changes()"),
    *("total_changes()", "last_insert_rowid()", "sqlite_version()", "sqlite_source_id()"),
    *("current_date", "CURRENT_TIME", "current_timestamp", "fts5_source_id()"),
    *("date()", "time()", "datetime( )", "julianday(/* none */)", "unixepoch(--\n)", '"date"()'),
    *("date('now')", "DATE( 'NOW' )", 'date("now")', "date('now', '-1 day')", "datetime('subsec')"),
    *("date(built, 'localtime')", "datetime(built, 'utc')", "time(/* 'x */'now')"),
    *("strftime('%Y')", "strftime('%Y', 'now')", "strftime(name)", "strftime('%f', 'subsec')"),
    *("strftime('%' || 'Y')", "strftime(lower('%d, ') || ((name)))"),
    *("julianday('now') - julianday(built)", "(SELECT date('now'))"),
    "(SELECT d FROM (SELECT 1 AS [--], date('now') AS d))",
    "(SELECT d FROM (SELECT 1 AS `/*`, date('now') AS d))",
    *("strftime(lower('%f'), 'subsec')", "date(coalesce(NULL, 'subsec'))", "date(('subsecond'))"),
    *("julianday('n' || 'ow')", "date(name)", "date(char(110, 111, 119))", "time(' NoW ')"),
    *(
        "date(CAST('now' AS BLOB))",
        "date('now' || char(0) || 'x')",
        "date(replace('nxow', 'x', ''))",
    ),
    *("datetime(built, 'local' || 'time')", "strftime('%f', lower('SUBSEC'))"),
    *("(SELECT min(date(name)) FROM ship)", "iif(1, date(name), 0)"),
]


@pytest.mark.parametrize("expression", NONDETERMINISTIC)
def test_query_that_depends_on_more_than_the_database_is_refused(database, expression):
    for start in ("SELECT {} FROM ship", "SELECT 1 FROM ship ORDER BY {}"):
        assert reason_of(database, start.format(expression)) is Reason.NONDETERMINISTIC_FUNCTION
    where = f"SELECT 1 FROM ship WHERE {expression} = 1"
    assert reason_of(database, where) is Reason.NONDETERMINISTIC_FUNCTION


@pytest.mark.parametrize(
    "view",
    ['"old Fleet"', "oldest", "(SELECT * FROM oldest)", "ÉTÉ", "ÉTÉ /* open", "launch", "docked"],
)
def test_view_that_reads_the_clock_is_refused(database, view):
    assert reason_of(database, f"SELECT * FROM {view}") is Reason.NONDETERMINISTIC_FUNCTION


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT 'now'", [("now",)]),
        ("SELECT id FROM ship WHERE name = 'now'", [(2,)]),
        ("SELECT random FROM ship WHERE id = 1", [(7,)]),
        ("SELECT id AS date, 'localtime' AS time FROM ship WHERE id = 1", [(1, "localtime")]),
        ("SELECT date(built) FROM ship WHERE id = 1", [("1912-04-10",)]),
        ("SELECT date(built, '+1 day') /* not 'now' */ FROM ship WHERE id = 1", [("1912-04-11",)]),
        ("SELECT strftime('%Y', built) FROM ship WHERE id = 1 -- date('now')", [("1912",)]),
        ("SELECT 'date()', 'random()'", [("date()", "random()")]),
        ("SELECT date(built), 'date()' FROM ship WHERE id = 1", [("1912-04-10", "date()")]),
        ("SELECT date(built), 'subsec' FROM ship WHERE id = 1", [("1912-04-10", "subsec")]),
        ("SELECT strftime('(%Y', date(built)) FROM ship WHERE id = 1", [("(1912",)]),
    ],
)
def test_near_miss_of_the_clock_and_of_chance_is_let_through(database, sql, rows):
    assert database.execute(sql) == rows


DATES = [
    *("NULL", "''", "'no'", "0", "2460000.5", "-1", "1e300", "9223372036854775807", "'12:30'"),
    *("'2024-02-29'", "'2024-02-30'", "'2024-02-29T23:59:59.999Z'", "x'323032302d30312d3031'"),
    *("1700000000.0", "'2024-02-29' || hex(zeroblob(50))"),  # what is kept, and what is too long
    *("'1700000000'", "1700000000", "'2024-02-29' || char(0) || 'x'", "x'ff'", "'9999-12-31'"),
]
MODIFIERS = [
    "'+1 month'",
    "'start of year'",
    "'unixepoch'",
    "'auto'",
    "'weekday 0'",
    "'x'",
    "NULL",
    "1",
    "1.0",
]
FORMATS = ["'%Y-%m-%d %H:%M:%f'", "'%J %j %s %W %w'", "'%%'", "'%Q'", "''", "NULL", "7"]


def test_function_of_date_and_time_gives_what_it_gives_in_sqlite(database):
    calls = [
        f"{name}({', '.join(arguments)})"
        for name in ("date", "time", "datetime", "julianday", "unixepoch")
        for arguments in (*itertools.product(DATES), *itertools.product(DATES, MODIFIERS))
    ]
    calls += [f"strftime({', '.join(pair)})" for pair in itertools.product(FORMATS, DATES)]
    calls += [f"typeof({call})" for call in calls]
    with contextlib.closing(sqlite3.connect(":memory:")) as plain:
        for start in range(0, len(calls), 100):
            sql = f"SELECT {', '.join(calls[start : start + 100])}"
            assert database.execute(sql) == plain.execute(sql).fetchall()


def test_function_of_date_and_time_may_stand_wherever_a_schema_has_one(tmp_path):
    sql = """
    CREATE TABLE ship (built TEXT, day AS (date(built)) STORED, year AS (strftime('%Y', built)));
    CREATE INDEX by_day ON ship (date(built)) WHERE time(built) >= '00:00:00';
    CREATE VIEW fleet AS SELECT julianday(built) AS number FROM ship;
    INSERT INTO ship VALUES ('1912-04-10');
    """
    with GuardedDatabase(make_database(tmp_path / "a.sqlite", sql)) as database:
        assert database.execute("SELECT * FROM ship, fleet") == [
            ("1912-04-10", "1912-04-10", "1912", 2419502.5)
        ]
        day = (
            "SELECT built FROM ship WHERE date(built) = '1912-04-10' AND time(built) >= '00:00:00'"
        )
        assert database.execute(day) == [("1912-04-10",)]


def test_no_function_with_odd_arguments_stops_a_run(database):
    """Whatever a function makes of its arguments: rows or a QueryError, never another exception."""
    listing = "SELECT DISTINCT name FROM pragma_function_list ORDER BY name"
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        names = [name for (name,) in connection.execute(listing)]
    odd = ["NULL", "-1", "9223372036854775807", "1e300", "'$['", "x'ff'", "CAST(x'ff' AS TEXT)"]
    assert len(names) > 50
    for name, count in itertools.product(names, range(3)):
        for arguments in itertools.product(odd, repeat=count):
            with contextlib.suppress(QueryError):
                database.execute(f'SELECT "{name}"({", ".join(arguments)})')


def test_name_that_is_not_utf8_is_set_aside(tmp_path):
    path = make_database(tmp_path / "a.sqlite", "CREATE TABLE t (xxx); INSERT INTO t VALUES (1)")
    path.write_bytes(path.read_bytes().replace(b"xxx", b"\xff\xfe\xfd"))
    with GuardedDatabase(path) as database:
        assert reason_of(database, "SELECT * FROM t") is Reason.UNDECODABLE_TEXT
        assert database.execute("SELECT count(*) FROM t") == [(1,)]


def test_table_may_be_called_json_each(tmp_path):
    sql = "CREATE TABLE json_each (a); INSERT INTO json_each VALUES (1)"
    with GuardedDatabase(make_database(tmp_path / "a.sqlite", sql)) as database:
        assert database.execute("SELECT a FROM json_each") == [(1,)]
        assert database.execute("SELECT count(*) FROM json_tree('[]')") == [(1,)]


# --- the file


@pytest.mark.parametrize("name", ["a b.sqlite", "a?mode=rwc.sqlite", "a#b", "100%.db", "é%20;'\""])
def test_path_may_hold_any_character(tmp_path, name):
    path = make_database(tmp_path / name, SCHEMA)
    before = fingerprint(tmp_path)
    with GuardedDatabase(path) as database:
        assert database.execute("SELECT count(*) FROM ship") == [(2,)]
        assert reason_of(database, "DELETE FROM ship") is Reason.NOT_A_SELECT
    assert fingerprint(tmp_path) == before


def test_missing_file_is_named_and_not_made(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No database at .*gone\.sqlite"):
        GuardedDatabase(tmp_path / "gone.sqlite")
    with pytest.raises(FileNotFoundError):
        GuardedDatabase(tmp_path)
    assert list(tmp_path.iterdir()) == []


def read_ships(path):
    with GuardedDatabase(path) as database:
        database.execute("SELECT name, length(built) FROM ship")


def assert_run_stops(path):
    with pytest.raises(sqlite3.DatabaseError, match=f"Corrupt database: .*{path.name}") as caught:
        read_ships(path)
    assert not isinstance(caught.value, QueryError)


@pytest.mark.parametrize("content", [b"", b"not a database at all " * 100, b"SQLite format 3\0"])
def test_file_that_is_no_database_stops_the_run(tmp_path, content):
    path = tmp_path / "broken.sqlite"
    path.write_bytes(content)
    assert_run_stops(path)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9])
def test_truncated_database_stops_the_run(tmp_path, kept):
    rows = ", ".join(f"({n}, '{'x' * 500}', '')" for n in range(3, 400))
    sql = f"{SCHEMA}; DROP TRIGGER sink; INSERT INTO ship (id, name, built) VALUES {rows}"
    path = make_database(tmp_path / "torn.sqlite", sql)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * kept)])
    assert_run_stops(path)


# --- the error


def test_query_error_survives_pickling():
    error = QueryError(Reason.SQL_ERROR, "no such table: ship", database_name="fleet")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == "SQL execution failed for fleet: no such table: ship"
    assert isinstance(copy, QueryError)
    assert (copy.reason, copy.detail, str(copy)) == (error.reason, error.detail, str(error))
