"""text_databases: a database of SQL text has the same bytes on every machine, and ends in time."""

import contextlib
import hashlib
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.corpus.databases import check_database
from answerkey.corpus.text_databases import BuildLimits, build_database, build_in_process
from answerkey.errors import InputError
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


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def built(tmp_path):
    path = tmp_path / "built.sqlite"
    path.write_bytes(build_database(write(tmp_path / "schema.sql", TEXT)))
    return path


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


def test_built_database_holds_what_sqlite_itself_would_store(tmp_path, built):
    assert repr(read_all(built)) == repr(read_all(make_database(tmp_path / "plain.sqlite", TEXT)))
    check_database(built)


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
    content = build_database(write(tmp_path / "schema.sql", text))
    assert hashlib.sha256(content).hexdigest() == GOLDEN


GOLDEN = "98bc8f622ef51ad51a1518dad35e0eed9c4b64525045ae091e6ac10e187560cc"


def test_built_database_says_nothing_of_its_builder(built):
    header = built.read_bytes()[:100]
    assert header[96:100] == bytes(4)
    assert header[24:28] == header[92:96] == b"\0\0\0\1"
    assert int.from_bytes(header[16:18], "big") == 4096
    assert header[56:60] == b"\0\0\0\1"  # UTF-8


def test_built_database_can_still_be_written_by_sqlite(built):
    with contextlib.closing(sqlite3.connect(built)) as connection:
        connection.execute("INSERT INTO shop VALUES (9, 'later', 1, 1)")
        connection.commit()
    assert len(read_all(built)[1]["shop"]) == 4


rows_of_text = st.lists(
    st.tuples(
        st.one_of(
            st.none(),
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3000),
    ),
    max_size=40,
)


@settings(max_examples=12)  # files are written
@given(rows_of_text)
def test_any_rows_survive_the_build(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("rows")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (r REAL, n NUMERIC, x, s TEXT)")
        connection.execute("CREATE INDEX i ON t (r, s)")
        for number, text in rows:
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?)", (number, number, number, text))
        dump = [line for line in connection.iterdump() if not line.startswith(("BEGIN", "COMMIT"))]
    text = "\n".join(dump)
    path = folder / "built.sqlite"
    path.write_bytes(build_database(write(folder / "schema.sql", text)))
    assert repr(read_all(path)) == repr(read_all(make_database(folder / "plain.sqlite", text)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ATTACH DATABASE '/tmp/x' AS x;", "ATTACH /tmp/x is not allowed"),
        ("PRAGMA writable_schema = ON;", "PRAGMA writable_schema is not allowed"),
        ("SELECT load_extension('x');", "function load_extension is not allowed|no such function"),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (random());", "function random is not allowed"),
        (
            "CREATE TABLE t (a, b DEFAULT CURRENT_TIMESTAMP); INSERT INTO t (a) VALUES (1);",
            "function current_timestamp is not allowed",
        ),
        (
            "CREATE TABLE t (a); CREATE TRIGGER g AFTER INSERT ON t BEGIN DELETE FROM t; END;",
            "CREATE TRIGGER g is not allowed",
        ),
        ("CREATE VIRTUAL TABLE t USING fts5(a);", "is not allowed|no such module"),
        ("CREATE TABLE t (a); COMMIT; BEGIN; ROLLBACK;", "transaction ROLLBACK is not allowed"),
        ("SAVEPOINT s; CREATE TABLE t (a);", "SAVEPOINT BEGIN is not allowed"),
        ("VACUUM INTO '/tmp/never.sqlite';", "schema.sql"),
        (".read other.sql", 'near "."'),
        ("CREATE TABLE t (a) ENGINE=InnoDB;", 'near "="'),
        ("CREATE TABLE t (a); INSERT INTO t VALUES (1, 2);", "1 columns but 2 values"),
        ("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1), (1);", "UNIQUE constraint failed"),
        ("CREATE TABLE t (a", "incomplete input"),
        ("CREATE TABLE t (a); INSERT INTO t VALUES ('never closed);", "unrecognized token"),
        ("", "makes no table"),
        ("-- nothing\n", "makes no table"),
        ("CREATE TABLE t (a);\0", "null"),
        (
            "CREATE TABLE p (a PRIMARY KEY); CREATE TABLE c (a REFERENCES p);"
            "INSERT INTO c VALUES (7);",
            "1 rows break a foreign key: the first is row 1 of c, which refers to no row of p",
        ),
        (
            "CREATE TABLE p (a); CREATE TABLE c (a REFERENCES p (a)); INSERT INTO c VALUES (1);",
            "foreign key mismatch",
        ),
    ],
)
def test_text_that_is_no_plain_database_is_refused(tmp_path, text, words):
    path = write(tmp_path / "schema.sql", text)
    with pytest.raises(ValueError, match=words) as caught:
        build_database(path)
    assert str(path) in str(caught.value)
    assert [entry.name for entry in tmp_path.iterdir()] == ["schema.sql"]


def test_error_says_after_which_statement(tmp_path):
    path = write(tmp_path / "schema.sql", "CREATE TABLE good (a);\nCREATE TABEL bad (a);")
    with pytest.raises(ValueError, match=r'near "TABEL".*at or after: CREATE TABLE good'):
        build_database(path)


def test_text_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "schema.sql"
    path.write_bytes("CREATE TABLE caffè (a);".encode("latin-1"))
    with pytest.raises(ValueError, match=r"schema.sql: expected SQL as UTF-8"):
        build_database(path)


# --- a process of its own


def double(times=40):
    """CTEs that each refer twice to the one before."""
    ctes = ["c0 AS (SELECT 1 AS x)"]
    ctes += [f"c{n + 1} AS (SELECT l.x FROM c{n} l, c{n} r)" for n in range(times)]
    return f"WITH {', '.join(ctes)} SELECT x, x FROM c{times}"


def test_heap_is_bounded_also_while_a_statement_is_compiled(tmp_path):
    path = write(tmp_path / "schema.sql", f"{TABLE} INSERT INTO t {double()};")
    with pytest.raises(InputError, match="more than 30000000 bytes of heap"):
        build_in_process(path, tmp_path / "shop.sqlite", BuildLimits(max_heap_bytes=30_000_000))


COUNTING = ", ".join(f"printf('%.2000000000c%.2000000000c', {n}, {n})" for n in range(90))
NESTED = "SELECT " + "(" * 1_000_000 + "1" + ")" * 1_000_000


def test_step_without_end_ends_with_its_process(tmp_path):
    path = write(tmp_path / "schema.sql", f"{TABLE} SELECT {COUNTING};")
    with pytest.raises(InputError, match="the process that made a database of it was ended") as c:
        build_in_process(path, tmp_path / "made.sqlite", BuildLimits(max_seconds=1))
    assert str(c.value).startswith(f"{path}: ")
    assert [entry.name for entry in path.parent.iterdir()] == ["schema.sql"]


def test_text_that_no_parser_can_hold_does_not_end_the_stage(tmp_path):
    """It is refused, ends its process, or is built: as the parser's stack has it."""
    path = write(tmp_path / "schema.sql", f"{TABLE} {NESTED};")
    with contextlib.suppress(InputError):
        build_in_process(path, tmp_path / "made.sqlite")


def test_text_is_built_in_its_process(tmp_path):
    made = tmp_path / "made.sqlite"
    build_in_process(write(tmp_path / "schema.sql", TABLE), made)
    with contextlib.closing(open_database(made)) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (0,)
