import contextlib
import hashlib
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answerkey.corpus.databases import (
    check_database,
    copy_database,
    replace_database,
)
from answerkey.corpus.text_databases import build_database
from answerkey.sqlite.uri import open_database
from tests.shared.paths import ROOT

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


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def make_sqlite(path, text=TEXT):
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
    return path


@pytest.fixture
def built(tmp_path):
    path = tmp_path / "built.sqlite"
    path.write_bytes(build_database(write(tmp_path / "schema.sql", TEXT)))
    return path


def test_whole_database_passes(tmp_path):
    check_database(make_sqlite(tmp_path / "a.sqlite"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "starts with b''"),
        (lambda content: b"<html>not found</html>", "starts with b'<html>"),
        (lambda content: content[:5000], "Corrupt database"),
        (lambda content: content[:4100] + b"\xff" * 900 + content[5000:], "Corrupt database"),
    ],
    ids=["empty", "a web page", "cut short", "overwritten"],
)
def test_damaged_database_is_found_out(tmp_path, damage, words):
    path = make_sqlite(tmp_path / "a.sqlite")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=words) as caught:
        check_database(path)
    assert str(caught.value).startswith(f"Corrupt database: {path}")


def test_collation_that_sqlite_has_not_hides_no_damage_elsewhere(tmp_path):
    path = tmp_path / "a.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.create_collation("german", lambda left, right: (left > right) - (left < right))
        connection.executescript(
            "CREATE TABLE word (w TEXT COLLATE german UNIQUE);"
            "INSERT INTO word VALUES ('a'), ('b');"
            'CREATE TABLE "a ""word""" (n INT);'
            "CREATE TABLE number (n INT); INSERT INTO number VALUES (1), (2);"
        )
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'number'"
        ).fetchone()
    check_database(path)
    content = path.read_bytes()
    path.write_bytes(content[: 4096 * (page - 1)] + b"\xff" * 4096 + content[4096 * page :])
    with pytest.raises(ValueError, match="Corrupt database: "):
        check_database(path)


def test_null_in_a_not_null_column_is_no_corruption(tmp_path):
    path = make_sqlite(tmp_path / "a.sqlite", "CREATE TABLE t (a); INSERT INTO t VALUES (NULL);")
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


def test_open_database_cannot_be_written(tmp_path):
    path = make_sqlite(tmp_path / "odd ?#% name.sqlite")
    with contextlib.closing(open_database(path)) as connection:
        assert connection.execute("SELECT count(*) FROM shop").fetchone() == (3,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM shop")
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_copy_has_the_same_bytes_and_takes_the_place_of_a_link(tmp_path):
    source = make_sqlite(tmp_path / "source.sqlite")
    cached = write(tmp_path / "cache" / "blob", "cached bytes")
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
    source = make_sqlite(tmp_path / "source.sqlite")
    pending = source.with_name(source.name + suffix)
    pending.write_bytes(b"")
    copy_database(source, tmp_path / "fine.sqlite")
    pending.write_bytes(b"rows")
    with pytest.raises(ValueError, match=f"unfinished changes in source.sqlite{suffix}"):
        copy_database(source, tmp_path / "lost.sqlite")
    assert not (tmp_path / "lost.sqlite").exists()


def test_database_that_changed_since_it_was_identified_is_not_copied(tmp_path):
    source, target = make_sqlite(tmp_path / "source.sqlite"), tmp_path / "copy.sqlite"
    known = hashlib.sha256(source.read_bytes()).hexdigest()
    copy_database(source, target, sha256=known)
    assert target.read_bytes() == source.read_bytes()
    target.unlink()
    make_sqlite(source, "CREATE TABLE another (a);")
    with pytest.raises(ValueError, match=f"changed while it was copied: .*, expected {known}"):
        copy_database(source, target, sha256=known)
    assert not target.exists()


def test_corrupt_file_never_takes_the_place_of_a_good_one(tmp_path):
    path = make_sqlite(tmp_path / "a.sqlite")
    before = path.read_bytes()
    with (
        pytest.raises(ValueError, match=f"^Corrupt database: {path} starts"),
        replace_database(path) as file,
    ):
        file.write(b"nonsense")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.sqlite"]


# --- databases from text


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
    assert repr(read_all(built)) == repr(read_all(make_sqlite(tmp_path / "plain.sqlite")))
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


@settings(max_examples=30)  # files are written
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
    assert repr(read_all(path)) == repr(read_all(make_sqlite(folder / "plain.sqlite", text)))


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
