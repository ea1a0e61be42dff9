import shutil
import tempfile
from pathlib import Path

import pytest

from answerkey.base.records import hash_file
from answerkey.sections.whole_file import read_params
from answerkey.shards.database_files import Database, find_database, local_path
from stages import compute_gold_answers as stage
from tests.shared.fleet_world import Project, make_fleet


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path, monkeypatch):
    """Where this test's databases are fetched to."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def store(tmp_path):
    """A folder with a database, and that database under its URL."""
    path = make_fleet(tmp_path / "store" / "fleet" / "fleet.sqlite")
    return path, Database(path.as_uri(), hash_file(path))


def test_database_without_a_url_is_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = find_database(Path("data"), "car_1", sha256="00", databases_url=None)
    assert local_path(database) == tmp_path / "data" / "car_1" / "car_1.sqlite"


def test_database_is_fetched_once_and_is_the_one_of_the_manifest(store, temporary_folder):
    path, database = store
    found = local_path(database)
    assert found.read_bytes() == path.read_bytes()
    assert (found.name, temporary_folder in found.parents) == ("fleet.sqlite", True)
    path.unlink()
    assert local_path(database) == found


def test_other_database_under_the_url_is_never_used(store, temporary_folder):
    _, database = store
    other = database._replace(sha256="0" * 64)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"expected sha256 0.* found {database.sha256}"):
            local_path(other)
    assert not list(temporary_folder.rglob("*.sqlite"))


@pytest.mark.parametrize(
    "url", ["file:///absent/x.sqlite", "nothing://x.sqlite", "http://127.0.0.1:1/x"]
)
def test_database_that_cannot_be_had_is_named(url):
    with pytest.raises(OSError, match=f"Cannot fetch the database {url}: "):
        local_path(Database(url, "0" * 64))


def test_url_changes_no_shard(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path).add("fleet", ["SELECT name FROM ship", "SELECT absent"])
    assert " 2 queries executed" in project.run(capfd)
    shards = project.bytes()
    (tmp_path / "data/interim/gold_answers.keys").unlink()
    project.write(databases_url=(tmp_path / "store").as_uri())
    shutil.move(tmp_path / "data/databases/fleet", tmp_path / "store" / "fleet")
    for executed in (2, 0):
        stage.main(read_params())
        assert f" {executed} queries executed" in capfd.readouterr().err
        assert project.bytes() == shards
