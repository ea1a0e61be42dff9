"""databases: a plain name alone builds a path, a whole file passes, a broken one takes no place."""

import contextlib
import os
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.corpus.databases import (
    check_database,
    copy_database,
    locate_database,
    read_descriptions,
    replace_database,
)
from answerkey.sqlite.files import check_db_ids, find_inside
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

TEXT = """
CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO shop
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
SELECT i, hex(zeroblob(100)) || i FROM n;
"""


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda content: b"", "starts with b''"),
        (lambda content: b"<html>not found</html>", "starts with b'<html>"),
        (lambda content: content[:5000], "Corrupt database"),
        (lambda content: content[:100] + b"\xff" * 900 + content[1000:], "SQLite cannot read it"),
        (lambda content: content[:4100] + b"\xff" * 900 + content[5000:], "Corrupt database"),
    ],
    ids=["empty", "a web page", "cut short", "no schema", "overwritten"],
)
def test_damaged_database_is_found_out(tmp_path, damage, words):
    path = make_database(tmp_path / "a.sqlite", TEXT)
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
    source = make_database(tmp_path / "source.sqlite", TEXT)
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
    source = make_database(tmp_path / "source.sqlite", TEXT)
    pending = source.with_name(source.name + suffix)
    pending.write_bytes(b"")
    copy_database(source, tmp_path / "fine.sqlite")
    pending.write_bytes(b"rows")
    with pytest.raises(ValueError, match=f"unfinished changes in source.sqlite{suffix}"):
        copy_database(source, tmp_path / "lost.sqlite")
    assert not (tmp_path / "lost.sqlite").exists()


def test_corrupt_file_never_takes_the_place_of_a_good_one(tmp_path):
    path = make_database(tmp_path / "a.sqlite", TEXT)
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
