"""A whole file passes, a broken one takes no place; text makes the same bytes within its bounds."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.corpus.databases import (
    BuildLimits,
    build_database,
    build_in_process,
    check_database,
    copy_database,
    locate_database,
    read_descriptions,
    replace_database,
)
from answerkey.engines.sqlite.files import check_db_ids, find_inside, open_database
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

SHOPS = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name SHOPS);
INSERT INTO shop
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
SELECT i, hex(zeroblob(100)) || i FROM n;
"""


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "starts with b''"),
        (lambda content: b"<html>not found</html>", "starts with b'<html>"),
        (lambda content: bytes(8) + b"DUCK", r"`answerkey new` .*: docs/your-database\.md"),
        (lambda content: content[:5000], "Corrupt database"),
        (lambda content: content[:100] + b"\xff" * 900 + content[1000:], "SQLite cannot read it"),
        (lambda content: content[:4100] + b"\xff" * 900 + content[5000:], "Corrupt database"),
    ],
    ids=["empty", "a web page", "DuckDB", "cut short", "no schema", "overwritten"],
)
def test_damaged_database_is_found_out(tmp_path, damage, words):
    path = make_database(tmp_path / "a.sqlite", SHOPS)
    check_database(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=words) as caught:
        check_database(path)
    assert str(caught.value).startswith(f"Corrupt database: {path}")


def test_null_in_a_not_null_column_is_no_corruption(tmp_path):
    path = make_database(tmp_path / "a.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (NULL);")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "PRAGMA writable_schema = ON;"
            "UPDATE sqlite_master SET sql = 'CREATE TABLE t (a NOT NULL)';"
        )
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA quick_check").fetchall() == [("NULL value in t.a",)]
    check_database(path)


def test_check_constraint_without_end_is_not_evaluated(tmp_path):
    path = tmp_path / "a.sqlite"
    slow = " + ".join(f"length(printf('%.2000000000c', {n}))" for n in range(500))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"PRAGMA ignore_check_constraints = ON; CREATE TABLE t (a CHECK ({slow} > 0));"
            "INSERT INTO t VALUES (1);"
        )
    code = (
        "import sys; from pathlib import Path\n"
        "from answerkey.corpus.databases import check_database\n"
        "check_database(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], cwd=ROOT, check=True, timeout=60)


def test_copy_has_the_same_bytes_and_takes_the_place_of_a_link(tmp_path):
    source = make_database(tmp_path / "source.sqlite", SHOPS)
    cached = tmp_path / "blob"
    cached.write_text("cached bytes")
    cached.chmod(0o444)
    target = tmp_path / "out" / "a.sqlite"
    target.parent.mkdir()
    target.symlink_to(cached)
    copy_database(source, target)
    assert target.read_bytes() == source.read_bytes()
    assert not target.is_symlink()
    assert cached.read_text() == "cached bytes"
    assert [entry.name for entry in target.parent.iterdir()] == ["a.sqlite"]


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_database_with_unfinished_changes_is_not_copied(tmp_path, suffix):
    source = make_database(tmp_path / "source.sqlite", SHOPS)
    pending = source.with_name(source.name + suffix)
    pending.write_bytes(b"")
    copy_database(source, tmp_path / "fine.sqlite")
    pending.write_bytes(b"rows")
    with pytest.raises(ValueError, match=f"unfinished changes in source.sqlite{suffix}"):
        copy_database(source, tmp_path / "lost.sqlite")
    assert not (tmp_path / "lost.sqlite").exists()


def test_corrupt_file_never_takes_the_place_of_a_good_one(tmp_path):
    path = make_database(tmp_path / "a.sqlite", SHOPS)
    before = path.read_bytes()
    with (
        pytest.raises(ValueError, match=r"^Corrupt database: .* starts"),
        replace_database(path) as file,
    ):
        file.write(b"nonsense")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sqlite"]


@pytest.mark.parametrize(
    "db_id",
    ["", ".", "..", ".hidden", "a/b", "../a", "/etc", "a\\b", "C:", "a\0b", "a\nb", None, 3, b"a"],
)
def test_anything_but_a_plain_name_builds_no_path(db_id, tmp_path):
    with pytest.raises(ValueError, match="Not a database id"):
        locate_database(tmp_path, db_id)


@given(st.text())
def test_database_is_always_two_levels_below_its_directory(tmp_path_factory, db_id):
    top = tmp_path_factory.getbasetemp()
    try:
        path = locate_database(top, db_id)
    except ValueError:
        return
    assert path.parent.parent == top
    assert os.path.normpath(path) == str(path)


@pytest.mark.parametrize(
    ("db_ids", "words"),
    [
        (["a", "b", "a"], "a is listed twice"),
        (["Pets", "pets"], r"pets is listed twice \(as Pets\)"),
        (["pets", "Pets"], r"Pets is listed twice \(as pets\)"),
        (["a", ".."], "Not a database id"),
        ("all", "Expected a list"),
    ],
)
def test_bad_list_of_ids_is_refused(db_ids, words):
    with pytest.raises(ValueError, match=words):
        check_db_ids(db_ids)


@pytest.fixture
def folder(tmp_path):
    """A folder with one that belongs to it, and links: one of them to a file, as DVC makes them."""
    folder = tmp_path / "folder"
    (folder / "fleet").mkdir(parents=True)
    (tmp_path / "cache").write_text("a database")
    (folder / "fleet" / "fleet.sqlite").symlink_to(tmp_path / "cache")
    (folder / "out").symlink_to(tmp_path)
    (folder / "same").symlink_to(folder / "fleet")
    return folder


@pytest.mark.parametrize(
    "path", ["fleet", "fleet/fleet.sqlite", "fleet/../a", "./a//b", "same/new", "out", "..a/b.."]
)
def test_path_that_stays_in_its_folder_is_found(folder, path, monkeypatch):
    assert find_inside(folder, path) == folder / os.path.normpath(path)
    monkeypatch.chdir(folder.parent)
    assert find_inside("folder", path) == find_inside(folder, path).relative_to(folder.parent)


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "../a", "fleet/..", "fleet/../../a", "../folder2/a", "a\0b"),
        *("/", "//", "/a", "//a", "///a", "out/a", "out/out/a", "fleet/../out/a"),
    ],
)
def test_path_that_leaves_its_folder_is_refused(folder, path):
    with pytest.raises(InputError, match=r"Not a path in .*folder: .*: expected one that stays"):
        find_inside(folder, path)


# --- what a corpus says of columns

HEADER = "original_column_name,column_name,column_description,data_format,value_description"
SHIP = {"ship": {"tons": {"name": "weight", "description": "gross, in t", "values": "0: unknown"}}}


def write_csv(folder, content, name="ship.csv"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('tons ,weight,"gross, in t",real,0: unknown\r\n', SHIP),
        ("tons,weight\r\n\r\n", {"ship": {"tons": {"name": "weight"}}}),
        ("tons,,of it,,,more,and more\r\n", {"ship": {"tons": {"description": "of it"}}}),
        ('id,,"in two\nlines"\r\n', {"ship": {"id": {"description": "in two\nlines"}}}),
        (",nothing\r\n", {"ship": {}}),
    ],
)
def test_each_column_has_its_texts_however_ragged_its_row_is(tmp_path, rows, expected):
    assert read_descriptions(write_csv(tmp_path / "d", f"{HEADER}\r\n{rows}".encode())) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_file_is_utf_8_or_windows_1252(tmp_path, encoding):
    content = f"{HEADER}\ntons,Größe – t".encode(encoding)
    assert read_descriptions(write_csv(tmp_path / "d", content)) == {
        "ship": {"tons": {"name": "Größe – t"}}
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"ship.csv: expected CSV with original_column_name, found \[\]"),
        (b"a,b\n1,2\n", r"ship.csv: expected CSV with original_column_name, found \['a', 'b'\]"),
        (f"{HEADER}\n{'x' * 200_000}".encode(), r"ship.csv: line 1: .*field larger"),
    ],
)
def test_file_of_which_nothing_can_be_read_is_an_error(tmp_path, content, words):
    with pytest.raises(InputError, match=words):
        read_descriptions(write_csv(tmp_path / "d", content))


def test_only_csv_files_are_read(tmp_path):
    assert read_descriptions(write_csv(tmp_path / "d", b"\x00", ".DS_Store")) == {}


# --- from SQL text

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


REACHING = [
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
]
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
        (
            "CREATE TABLE public.t (a integer);",
            r"unknown database public; .*`answerkey new` .*docs/your-database\.md",
        ),
        ("-- nothing\n", "makes no table"),
        ("CREATE TABLE t (a);\0", "null"),
        *((f"{TABLE} {sql}", "schema.sql") for sql in REACHING),
    ],
)
def test_text_that_is_no_plain_database_is_refused(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
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
        pytest.param(
            f"SELECT {COUNTING}",
            {"max_seconds": 1},
            "the process .* was ended: a single step takes",
            marks=pytest.mark.slow,
        ),
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
        pytest.param(
            f"INSERT INTO t {ENDLESS} SELECT x, x FROM n WHERE x < 0;",
            {"max_steps": 10**15, "max_seconds": 1},
            "more than 1 seconds; at or after: INSERT INTO t WITH",
            marks=pytest.mark.slow,
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
    "expression", [each for each in CHANGING if "random" not in each and "version" not in each]
)
def test_value_of_the_moment_is_that_of_the_clock_of_the_corpus(tmp_path, expression) -> None:
    text = f"CREATE TABLE t (a, b DEFAULT ({expression})); INSERT INTO t (a) VALUES (CURRENT_DATE);"
    path = write(tmp_path, text)
    content = build_database(path, now="2025-01-30")
    assert content == build_database(path, now="2025-01-30")
    assert content != build_database(path, now="2025-01-31")
    (tmp_path / "built.sqlite").write_bytes(content)
    ((day, other),) = read(tmp_path / "built.sqlite", "SELECT a, substr(b, 1, 4) FROM t")
    assert day == "2025-01-30"
    assert other in ("2025", "2020")
    chance = write(tmp_path, f"{text} INSERT INTO t VALUES (1, random());")
    with pytest.raises(InputError, match="not authorized to use function: random"):
        build_database(chance, now="2025-01-30")


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
