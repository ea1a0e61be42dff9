"""A database of SQL text has the same bytes on every machine, and is made within its bounds."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.corpus.databases import BuildLimits, build_database, build_in_process
from answerkey.sqlite.files import open_database
from tests.shared.databases import make_database

TEXT = """-- a shop
CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rent REAL, share NUMERIC);
CREATE TABLE sale (shop_id INTEGER REFERENCES shop (id), day TEXT, amount REAL, note BLOB);
CREATE TABLE tag (word TEXT COLLATE NOCASE PRIMARY KEY, weight NUMERIC) WITHOUT ROWID;
CREATE VIEW takings AS SELECT name, sum(amount) AS total FROM shop JOIN sale ON id = shop_id
  GROUP BY name;
CREATE INDEX sale_by_amount ON sale (amount DESC, day) WHERE amount > 0;
INSERT INTO shop VALUES (1, 'Zoë', 900, 0.5), (2, 'semi;colon', 850.5, 1), (3, 'none', NULL, 2.0);
INSERT INTO sale VALUES (1, '2024-01-01', 12, x'00ff'), (1, '2024-01-02', 7.25, NULL);
INSERT INTO sale VALUES (2, '2024-01-02', 1e300, '--'), (NULL, NULL, -3, 'x');
INSERT INTO tag VALUES ('new', 1), ('Old', 2.5);
UPDATE shop SET rent = rent + 1 WHERE id = 1; DELETE FROM sale WHERE note = 'x';
"""
TABLE = "CREATE TABLE t (a, b);"
ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def write(folder: Path, text: str) -> Path:
    path = folder / "schema.sql"
    path.write_text(text, encoding="utf-8")
    return path


def build(folder: Path, text: str, **limits: int) -> Path:
    """The database of a text; the second build has the same bytes."""
    path = write(folder, text)
    content = build_database(path, BuildLimits(**limits))
    assert build_database(path, BuildLimits(**limits)) == content
    built = folder / "built.sqlite"
    built.write_bytes(content)
    return built


def read(path: Path, sql: str) -> list[tuple]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def read_all(path):
    with contextlib.closing(open_database(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        names = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        rows = {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for kind, name, _ in names
            if kind in ("table", "view")
        }
        return sorted(names, key=str), rows


def test_built_database_holds_what_sqlite_itself_would_store_and_can_be_written(tmp_path):
    built = build(tmp_path, TEXT)
    assert repr(read_all(built)) == repr(read_all(make_database(tmp_path / "plain.sqlite", TEXT)))
    with contextlib.closing(sqlite3.connect(built)) as connection, connection:
        connection.execute("INSERT INTO shop VALUES (9, 'later', 1, 1)")
    assert len(read_all(built)[1]["shop"]) == 4


def test_built_database_has_these_very_bytes(tmp_path):
    # Equal on SQLite 3.39 to 3.54. A change of these bytes changes every database built from text:
    # remove data/databases once after it, since an existing file of the same text is kept.
    # Rows in no order and of many sizes fill pages of every kind and leave traces on them.
    rows = (
        f"INSERT INTO shop (name, rent) VALUES ('{n * 7919 % 1009} {'x' * (n * 31 % 97)}', {n % 5})"
        for n in range(1200)
    )
    long = f"INSERT INTO sale VALUES (1, '{'long ' * 3000}', 1, NULL)"
    text = ";\n".join([TEXT.replace(" UNIQUE", ""), *rows, "CREATE INDEX i ON shop (name)", long])
    content = build_database(write(tmp_path, text))
    assert hashlib.sha256(content).hexdigest() == GOLDEN


GOLDEN = "98bc8f622ef51ad51a1518dad35e0eed9c4b64525045ae091e6ac10e187560cc"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ATTACH DATABASE '/tmp/x' AS x;", "not authorized"),
        ("PRAGMA writable_schema = ON;", "not authorized"),
        ("SELECT load_extension('x');", "not authorized to use function|no such function"),
        (
            "CREATE TABLE t (a); CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END;",
            "not authorized",
        ),
        ("CREATE VIRTUAL TABLE t USING fts5(a);", "not authorized|no such module"),
        ("SAVEPOINT s; CREATE TABLE t (a);", "not authorized"),
        ("VACUUM INTO '/tmp/never.sqlite';", "schema.sql"),
        (
            "CREATE TABLE good (a);\nCREATE TABEL t (a);",
            'near "TABEL".*at or after: CREATE TABLE go',
        ),
        ("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1);", "UNIQUE constraint failed"),
        ("-- nothing\n", "makes no table"),
        ("CREATE TABLE t (a);\0", "null"),
    ],
)
def test_text_that_is_no_plain_database_is_refused(tmp_path, text, words):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        build_database(path)
    assert str(path) in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["schema.sql"]


def double(times=40):
    """CTEs that each refer twice to the one before."""
    ctes = ["c0 AS (SELECT 1 AS x)"]
    ctes += [f"c{n + 1} AS (SELECT l.x FROM c{n} l, c{n} r)" for n in range(times)]
    return f"WITH {', '.join(ctes)} SELECT x, x FROM c{times}"


COUNTING = ", ".join(f"printf('%.2000000000c%.2000000000c', {n}, {n})" for n in range(90))


@pytest.mark.parametrize(
    ("statement", "limits", "words"),
    [
        (f"INSERT INTO t {double()}", {"max_heap_bytes": 30_000_000}, "30000000 bytes of heap"),
        (f"SELECT {COUNTING}", {"max_seconds": 1}, "the process .* was ended: a single step takes"),
    ],
    ids=["heap while it is compiled", "step without end"],
)
def test_statement_ends_with_its_process(tmp_path, statement, limits, words):
    path = write(tmp_path, f"{TABLE} {statement};")
    with pytest.raises(InputError, match=words) as caught:
        build_in_process(path, tmp_path / "made.sqlite", BuildLimits(**limits))
    assert str(caught.value).startswith(f"{path}: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["schema.sql"]


def test_text_that_no_parser_can_hold_does_not_end_the_stage(tmp_path):
    """It is refused, ends its process, or is built: as the parser's stack has it."""
    nested = f"SELECT {'(' * 1_000_000}1{')' * 1_000_000}"
    with contextlib.suppress(InputError):
        build_in_process(write(tmp_path, f"{TABLE} {nested};"), tmp_path / "made.sqlite")


@pytest.mark.parametrize(
    ("statements", "limits", "words"),
    [
        ("INSERT INTO t VALUES (1, 2);" * 1000, {"max_steps": 2000}, "more than 2000 virtual mach"),
        (
            f"INSERT INTO t {ENDLESS} SELECT x, x FROM n WHERE x < 0;",
            {"max_steps": 10**15, "max_seconds": 1},
            "more than 1 seconds; at or after: INSERT INTO t WITH",
        ),
        (
            f"INSERT INTO t {ENDLESS} SELECT x, 'and more' FROM n;",
            {"max_heap_bytes": 50_000_000},
            "more than 50000000 bytes of heap",
        ),
        ("INSERT INTO t VALUES (zeroblob(2000000000), 1);", {}, "too big"),
        ("INSERT INTO t VALUES (1, 2);", {"max_text_bytes": 20}, "expected 20"),
    ],
)
def test_text_that_takes_too_much_is_refused(tmp_path, statements, limits, words) -> None:
    path = write(tmp_path, f"{TABLE} CREATE INDEX i ON t (a); {statements}")
    with pytest.raises(InputError, match=words) as caught:
        build_database(path, BuildLimits(**limits))
    assert str(caught.value).startswith(f"{path}: ")


def test_bounds_also_hold_while_the_file_is_settled(tmp_path) -> None:
    rows = f"INSERT INTO t {ENDLESS} SELECT x, x FROM n LIMIT 1000;"
    path = write(tmp_path, f"CREATE TABLE t (a REAL, b REAL); CREATE TABLE u (a REAL); {rows}")
    low, high = 1, 1024
    while high - low > 1:
        middle = (low + high) // 2
        try:
            build_database(path, BuildLimits(max_steps=middle * 1000))
            high = middle
        except InputError:
            low = middle
    with pytest.raises(InputError, match="at or after: its end"):
        build_database(path, BuildLimits(max_steps=low * 1000))


CHANGING = [
    *("random()", "abs(random())", "sqlite_version()", "CURRENT_TIMESTAMP", "current_date"),
    *("date('now')", "date('n' || 'ow')", "date()", "datetime(CAST(x'6e6f77' AS TEXT))"),
    *("datetime('2020-01-01', 'localtime')", "strftime('%Y', '2020-01-01', 'utc')"),
]


@pytest.mark.parametrize("expression", CHANGING)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE t (a, b DEFAULT ({})); INSERT INTO t (a) VALUES (1);",
        "CREATE TABLE t (a); CREATE VIEW v AS SELECT {} AS x; INSERT INTO t SELECT x FROM v;",
    ],
)
def test_value_of_chance_or_of_the_moment_is_refused(tmp_path, text, expression) -> None:
    with pytest.raises(InputError, match="not authorized"):
        build_database(write(tmp_path, text.format(expression)))


@pytest.mark.parametrize(
    ("text", "sql", "rows"),
    [
        (
            f"{TABLE} INSERT INTO t VALUES (date('2020-01-31', '+1 month'), time(0.25));",
            "SELECT a, b FROM t",
            [("2020-03-02", "18:00:00")],
        ),
        (
            "CREATE TABLE t (a DEFAULT CURRENT_TIMESTAMP, b DEFAULT (random()));"
            " INSERT INTO t VALUES ('2020', 7);",
            "SELECT a, b FROM t",
            [("2020", 7)],
        ),
        (
            f"{TABLE} CREATE VIEW age AS SELECT date('now') - a AS b FROM t;"
            " CREATE INDEX i ON t (date(a)); INSERT INTO t VALUES ('1990-01-01', 'now');",
            "SELECT a FROM t INDEXED BY i WHERE date(a) = '1990-01-01'",
            [("1990-01-01",)],
        ),
    ],
)
def test_honest_text_is_built(tmp_path, text, sql, rows) -> None:
    assert read(build(tmp_path, text), sql) == rows


def test_dump_of_sqlite_is_built(tmp_path) -> None:
    dump = """PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE child (parent REFERENCES parent (id), word TEXT);
INSERT INTO child VALUES(3,'BEGIN');
CREATE TABLE parent (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
INSERT INTO parent VALUES(3,'it''s; COMMIT');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('parent',9);
CREATE INDEX i ON child (word);
COMMIT;
"""
    built = build(tmp_path, dump)
    assert read(built, "SELECT name, word FROM parent JOIN child ON parent = id") == [
        ("it's; COMMIT", "BEGIN")
    ]
    assert read(built, "SELECT seq FROM sqlite_sequence") == [(9,)]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t SELECT name, file FROM pragma_database_list;",
        "INSERT INTO t SELECT compile_options, 1 FROM pragma_compile_options;",
        "INSERT INTO sqlite_master VALUES ('table', 'u', 'u', 2, 'CREATE TABLE u (a)');",
        "PRAGMA temp_store_directory = '/';",
        "PRAGMA max_page_count = 1000000000;",
        "CREATE TEMP TABLE u (a);",
        "COMMIT; VACUUM INTO 'copy.sqlite';",
        "COMMIT; ATTACH 'other.sqlite' AS other;",
        "SELECT fts3_tokenizer('simple');",
        "SELECT writefile('x', 'y');",
    ],
)
def test_text_reaches_nothing_but_its_database(tmp_path, monkeypatch, sql) -> None:
    path = write(tmp_path, f"{TABLE} {sql}")
    monkeypatch.chdir(path.parent)
    with pytest.raises(InputError, match=str(path)):
        build_database(path)
    assert [entry.name for entry in path.parent.iterdir()] == ["schema.sql"]
