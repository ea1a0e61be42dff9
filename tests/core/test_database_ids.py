"""database_ids: nothing but a plain folder name may build a path."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.databases import locate_database
from answerkey.errors import InputError
from answerkey.sqlite.files import check_db_id, check_db_ids, find_inside


@pytest.mark.parametrize("db_id", ["pets_1", "cre_Doc-2", "été", "a b", "a..b", "1"])
def test_plain_name_is_a_database_id(db_id):
    assert check_db_id(db_id) == db_id


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
