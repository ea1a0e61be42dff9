"""`answerkey check-remote` tells what is missing from what it was not let in to."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.shared.remote_servers import Server, find_free_port, require_plugin
from tests.shared.sharing_world import (
    PRODUCT,
    WRITABLE,
    World,
    find_stored,
    make_repository,
    make_settings,
    make_world,
    serve,
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("small") / "maintainer")


@pytest.fixture
def world(repository: Path, tmp_path: Path) -> World:
    return make_world(repository, tmp_path)


@pytest.fixture(scope="module")
def pushed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory to which a maintainer has pushed."""
    world = make_world(repository, tmp_path_factory.mktemp("pushed"))
    folder = world.root / "storage"
    world.use_remote(url=str(folder), verify="true")
    world.run(world.maintainer, "dvc", "push")
    return folder


@pytest.fixture
def storage(pushed: Path, world: World) -> Path:
    """A copy of that directory, which is the remote of both clones."""
    folder = shutil.copytree(pushed, world.root / "storage")
    world.use_remote(url=str(folder), verify="true")
    return folder


def find_evaluation(storage: Path, world: World) -> Path:
    """Where a server or a directory keeps the evaluation set."""
    content = (world.maintainer / PRODUCT / "questions_eval.json").read_bytes()
    return find_stored(storage, content)


@pytest.mark.slow
def test_clone_without_data_sees_that_every_file_is_right(world: World, storage: Path) -> None:
    status, said = world.check_remote()
    assert status == 0, said
    assert said.endswith("4 of 4 files are right\n")


def test_clone_without_data_names_a_missing_file(world: World, storage: Path) -> None:
    lost = find_evaluation(storage, world)
    lost.unlink()
    status, said = world.check_remote()
    assert status == 1
    assert f"missing: {PRODUCT}/questions_eval.json ({lost.parent.name}/{lost.name})\n" in said
    assert said.endswith("3 of 4 files are right\n")


@pytest.mark.slow
def test_missing_list_of_a_folder_is_named(world: World, storage: Path) -> None:
    (lost,) = storage.rglob("*.dir")
    lost.unlink()
    assert world.check_remote(by="maintainer")[1].endswith("3 of 4 files are right\n")
    status, said = world.check_remote()
    assert status == 1
    assert f"missing: {PRODUCT}/ ({lost.parent.name}/{lost.name})\n" in said


@pytest.mark.slow
def test_missing_file_is_pushed_again_after_mending(world: World, storage: Path) -> None:
    world.run(world.maintainer, "dvc", "push")  # now DVC remembers what is there
    lost = find_evaluation(storage, world)
    lost.unlink()
    world.run(world.maintainer, "dvc", "push")
    assert not lost.exists(), "a push alone does not look"
    assert f"missing: {PRODUCT}/questions_eval.json" in world.mend()
    assert lost.exists()
    world.check_pull()


@pytest.mark.slow
def test_remote_without_any_file_is_told_from_one_with_gaps(world: World, storage: Path) -> None:
    shutil.rmtree(storage)
    status, said = world.check_remote(by="maintainer")
    assert status == 1
    assert "ERROR: nothing is there" in said


@pytest.mark.slow
def test_run_that_was_never_recorded_is_no_success(world: World, storage: Path) -> None:
    (world.teammate / f"{PRODUCT}.dvc").unlink()
    status, said = world.check_remote()
    assert status == 1
    assert "ERROR: " in said


@pytest.fixture(params=[*WRITABLE, "http"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def server(kind: str, world: World) -> Iterator[Server]:
    """A server from which the evaluation set is lost, before it has looked at its files."""
    folder = world.root / kind
    place = {"s3": folder / "datasets/small", "ssh": world.root / "unused"}.get(kind, folder)
    world.use_remote(url=str(place), verify="true")
    world.run(world.maintainer, "dvc", "push")
    find_evaluation(place, world).unlink()
    with serve(kind, folder) as started:
        if kind == "ssh":  # it makes its own folder
            shutil.copytree(place, folder / "small", dirs_exist_ok=True)
        world.use_remote(**make_settings(kind, started))
        yield started


@pytest.mark.slow
def test_missing_file_is_named_on_every_kind_of_server(world: World, server: Server) -> None:
    status, said = world.check_remote()
    assert status == 1
    assert re.search(rf"^missing: {PRODUCT}/questions_eval\.json \(", said, re.MULTILINE), said
    assert said.endswith("3 of 4 files are right\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no keyfile "),
        pytest.param("no key\n", "Invalid private key", marks=pytest.mark.slow),
    ],
)
def test_wrong_keyfile_is_no_missing_file(world: World, content: str | None, message: str) -> None:
    require_plugin("ssh")
    keyfile = world.root / "id_ed25519"
    if content:
        keyfile.write_text(content, encoding="utf-8")
    nobody = Server(None, find_free_port(), "maintainer", str(keyfile), world.root)
    world.use_remote(**make_settings("ssh", nobody))
    assert f": not let in: {message}" in world.fail_to_check()


class Refusal(BaseHTTPRequestHandler):
    """Answers every question with the status of the server."""

    def do_GET(self) -> None:
        self.send_error(self.server.status)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "not let in: 403"),
        pytest.param(401, "not let in: 401", marks=pytest.mark.slow),
        pytest.param(500, "500", marks=pytest.mark.slow),
    ],
)
def test_http_server_that_refuses_is_no_missing_file(
    world: World, status: int, message: str
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusal) as server:
        server.status = status
        threading.Thread(target=server.serve_forever).start()
        world.use_remote(url=f"http://127.0.0.1:{server.server_port}", verify="true")
        try:
            assert f": {message}" in world.fail_to_check()
        finally:
            server.shutdown()


def test_torn_lock_file_is_no_fault_of_the_remote(world: World, storage: Path) -> None:
    (world.teammate / "dvc.yaml").write_text("stages: {a: {cmd: echo}}\n", encoding="utf-8")
    for torn in ("schema: '2.0'\ns", "schema: '2.0'\nstages:\n  a:\n    deps:\n"):
        (world.teammate / "dvc.lock").write_text(torn, encoding="utf-8")
        status, said = world.check_remote()
        assert status == 1
        assert "dvc.lock'" in said.splitlines()[0]
        assert str(storage) not in said
        assert said.endswith("git checkout dvc.lock && dvc repro\n")
