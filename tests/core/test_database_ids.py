"""database_ids: nothing but a plain folder name may build a path."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.core.database_ids import check_db_id, check_db_ids
from answerkey.corpus.databases import locate_database


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
        ([], "No database is listed"),
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
