import contextlib
import hashlib
import multiprocessing
import os
import socketserver
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from answerkey.errors import InputError
from answerkey.records import hash_file
from answerkey.shards import database_files
from answerkey.shards.database_files import LocalDatabase, RemoteDatabase, find_database, local_path
from answerkey.shards.processes import map_in_processes
from stages import compute_gold_answers as stage
from tests.shared.databases import make_database
from tests.shared.fleet_world import Project, make_fleet
from tests.shared.paths import ROOT
from tests.shared.project_world import World

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path, monkeypatch):
    """Where this test's databases are fetched to."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))  # of workers that are not forked
    monkeypatch.setattr(database_files, "_BACKOFF_S", 0.01)
    forget(monkeypatch)
    return folder


def forget(monkeypatch):
    """As in a new process."""
    monkeypatch.setattr(database_files, "_hashes", {})


@pytest.fixture
def store(tmp_path):
    """A folder with a database, and that database under its URL."""
    path = make_fleet(tmp_path / "store" / "fleet" / "fleet.sqlite")
    return path, RemoteDatabase(path.as_uri(), hash_file(path))


def refuse(handler):
    handler.send_error(503)


def cut_short(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"SQLite format 3")
    handler.close_connection = True


def serve_another(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "7")
    handler.end_headers()
    handler.wfile.write(b"another")


@contextlib.contextmanager
def serve(folder, *faults):
    """The URL of a server of the folder's files, whose first answers are the faults, and the paths
    that it was asked for."""
    asked = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked.append(self.path)
            answer = dict(enumerate(faults, start=1)).get(
                len(asked), SimpleHTTPRequestHandler.do_GET
            )
            answer(self)

    class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", asked
        finally:
            server.shutdown()
            thread.join()


def test_database_without_a_url_is_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = make_fleet(tmp_path / "data" / "car_1" / "car_1.sqlite")
    sha256 = hash_file(path)
    database = find_database(Path("data"), "car_1", sha256=sha256, databases_url=None)
    assert database == LocalDatabase(path, sha256)
    assert local_path(database) == path


def test_file_that_took_the_place_of_a_database_is_refused_with_both_checksums(tmp_path):
    path = make_fleet(tmp_path / "fleet.sqlite")
    database = LocalDatabase(path, hash_file(path))
    assert local_path(database) == path
    make_fleet(path, "CREATE TABLE other (id INTEGER)")
    with pytest.raises(InputError, match="Database fleet is not the one of the manifest") as caught:
        local_path(database)
    for words in (database.sha256, hash_file(path), str(path), "dvc repro download_databases"):
        assert words in str(caught.value)


def test_file_of_the_same_size_with_another_time_is_read_again(tmp_path):
    path = make_fleet(tmp_path / "fleet.sqlite")
    database = LocalDatabase(path, hash_file(path))
    assert local_path(database) == path
    before = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(InputError, match="expected sha256"):
        local_path(database)


def test_file_that_does_not_change_is_read_once(tmp_path, monkeypatch):
    path = make_fleet(tmp_path / "fleet.sqlite")
    database = LocalDatabase(path, hash_file(path))
    read = []
    monkeypatch.setattr(
        database_files, "hash_file", lambda path: read.append(path) or hash_file(path)
    )
    assert [local_path(database) for _ in range(3)] == [path] * 3
    assert read == [path]


def test_missing_file_names_the_stage_that_makes_it(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"No database at .*a\.sqlite: run `dvc repro down"):
        local_path(LocalDatabase(tmp_path / "a.sqlite", "00"))


def test_fetched_database_is_the_one_of_the_manifest(store, temporary_folder):
    path, database = store
    found = local_path(database)
    assert found.read_bytes() == path.read_bytes()
    assert found.name == "fleet.sqlite"
    assert temporary_folder in found.parents


def test_database_is_fetched_once(store, monkeypatch):
    path, database = store
    found = local_path(database)
    path.unlink()
    assert local_path(database) == found
    forget(monkeypatch)
    assert local_path(database) == found


@pytest.mark.parametrize("spoil", [b"", b"torn"])
def test_fetched_file_that_was_spoilt_is_fetched_again(store, monkeypatch, spoil):
    path, database = store
    local_path(database).write_bytes(spoil)
    forget(monkeypatch)
    assert local_path(database).read_bytes() == path.read_bytes()


def test_fetched_file_that_was_removed_is_fetched_again(store):
    path, database = store
    local_path(database).unlink()
    assert local_path(database).read_bytes() == path.read_bytes()


def test_rest_of_a_fetch_that_was_cut_short_does_not_count(store):
    path, database = store
    local_path(database).rename(local_path(database).with_name("partial"))
    assert local_path(database).read_bytes() == path.read_bytes()


def test_other_database_under_the_url_is_never_used(store, temporary_folder):
    path, database = store
    other = database._replace(sha256="0" * 64)
    for _ in range(2):
        with pytest.raises(ValueError, match=f"expected sha256 0.* found {database.sha256}"):
            local_path(other)
    assert not list(temporary_folder.rglob("*.sqlite"))
    assert path.is_file()


@pytest.mark.parametrize(
    "url", ["file:///absent/x.sqlite", "nothing://x.sqlite", "http://127.0.0.1:1/x"]
)
def test_database_that_cannot_be_had_is_named(url):
    with pytest.raises(OSError, match=f"Cannot fetch the database {url}: "):
        local_path(RemoteDatabase(url, "0" * 64))


FAULTS = pytest.mark.parametrize("fault", [refuse, cut_short, serve_another])


@FAULTS
def test_fetch_that_fails_is_tried_again(store, tmp_path, fault):
    path, database = store
    with serve(tmp_path / "store", fault, fault) as (url, asked):
        found = local_path(database._replace(url=f"{url}/fleet/fleet.sqlite"))
    assert found.read_bytes() == path.read_bytes()
    assert asked == ["/fleet/fleet.sqlite"] * 3


@FAULTS
def test_fetch_that_fails_again_and_again_names_the_database(store, tmp_path, fault):
    _, database = store
    with serve(tmp_path / "store", *[fault] * 9) as (url, asked):
        with pytest.raises((OSError, ValueError), match=f"{url}/fleet/fleet.sqlite: "):
            local_path(database._replace(url=f"{url}/fleet/fleet.sqlite"))
        assert len(asked) == 3


def test_longer_is_waited_after_each_fetch_that_fails(store, tmp_path, monkeypatch):
    _, database = store
    waits = []
    clock = SimpleNamespace(sleep=waits.append)  # for this module alone: other threads sleep too
    monkeypatch.setattr(database_files, "time", clock)
    with serve(tmp_path / "store", refuse, refuse) as (url, _):
        local_path(database._replace(url=f"{url}/fleet/fleet.sqlite"))
    assert waits == [0.01, 0.02]


def test_database_that_is_not_there_is_asked_for_once(store, tmp_path):
    _, database = store
    with serve(tmp_path / "store") as (url, asked):
        with pytest.raises(OSError, match=f"Cannot fetch the database {url}/absent: FileNotFound"):
            local_path(database._replace(url=f"{url}/absent"))
        assert asked == ["/absent"]


def test_new_version_of_a_database_takes_no_old_one(store):
    path, database = store
    old = local_path(database)
    make_fleet(path, "CREATE TABLE other (id INTEGER)")
    new = local_path(database._replace(sha256=hash_file(path)))
    assert new.read_bytes() == path.read_bytes()
    assert hash_file(old) == database.sha256


def hash_fetched(_, database):
    return hashlib.sha256(local_path(database).read_bytes()).hexdigest()


def test_workers_of_one_machine_fetch_a_database_once(store, tmp_path):
    path, database = store
    path.write_bytes(path.read_bytes() + bytes(10_000_000))
    database = RemoteDatabase("", hash_file(path))
    with serve(tmp_path / "store") as (url, asked):
        database = database._replace(url=f"{url}/fleet/fleet.sqlite")
        function = partial(hash_fetched, database=database)
        found = {result for _, result in map_in_processes(function, range(32), workers=4)}
    assert found == {database.sha256}
    assert asked == ["/fleet/fleet.sqlite"]
    assert multiprocessing.active_children() == []


def test_url_changes_no_shard(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path).add("fleet", ["SELECT name FROM ship", "SELECT absent"])
    assert " 2 queries executed" in project.run(capfd)
    shards = project.bytes()
    (tmp_path / "data/interim/gold_answers.keys").unlink()
    (tmp_path / "data" / "databases").rename(tmp_path / "store")
    (tmp_path / "data" / "databases").mkdir()
    (tmp_path / "store" / "manifest.json").rename(tmp_path / "data" / "databases" / "manifest.json")
    with serve(tmp_path / "store") as (url, asked):
        write_params(project, url)
        stage.main()
        assert " 2 queries executed" in capfd.readouterr().err
        assert project.bytes() == shards
        assert asked == ["/fleet/fleet.sqlite"]
    write_params(project, "file:///another")
    stage.main()
    assert " 0 queries executed" in capfd.readouterr().err


def write_params(project, databases_url):
    text = (project.folder / "params.yaml").read_text()
    line = next(line for line in text.splitlines() if "databases_url" in line)
    key = line.partition(":")[0]
    (project.folder / "params.yaml").write_text(text.replace(line, f"{key}: {databases_url}"))


def test_failed_fetch_stops_the_run_and_loses_no_query(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = Project(tmp_path).add("fleet", ["SELECT 1"])
    with serve(tmp_path) as (url, _):
        project.write(databases_url=f"{url}/absent")
        with pytest.raises(OSError, match=f"Cannot fetch the database {url}/absent/fleet/fleet"):
            stage.main()
    assert project.bytes() == {}


def test_replaced_database_ends_every_stage_that_would_open_it(tmp_path, monkeypatch):
    """With both checksums; where it is made again, the stage goes on."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    world.run_to("export_dataset")
    expected = world.json("data/databases/manifest.json")["databases"]["library"]["sha256"]
    path = make_database(
        tmp_path / "data/databases/library/library.sqlite", "CREATE TABLE book (id INTEGER)"
    )
    for keys in (tmp_path / "data/interim").glob("*.keys"):
        keys.unlink()  # so that nothing is fresh
    stages = ("compute_gold_answers", "audit_gold_answers", "export_trainers")
    for name in stages:
        with pytest.raises(InputError, match="Database library is not the one of the") as caught:
            world.run(name)
        assert f"expected sha256 {expected}" in str(caught.value)
    path.unlink()
    world.run("download_databases", *stages)
