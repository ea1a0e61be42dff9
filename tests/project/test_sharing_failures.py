"""What goes wrong between a clone and a real server is said, within seconds, and can be mended.

The repository is a small one with the committed DVC configuration of this project; the settings of
each remote, and the way to mend one, are read from docs/sharing.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.remote_servers import (
    Server,
    find_free_port,
    require_plugin,
)
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

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("small") / "maintainer")


@pytest.fixture
def world(repository: Path, tmp_path: Path) -> World:
    return make_world(repository, tmp_path)


WRONG = {
    "s3": ("secret_access_key", "Forbidden"),
    "ssh": ("keyfile", "Permission denied"),
    "webdav": ("password", "Unauthorized"),
}
REFUSED = {**{kind: message for kind, (_, message) in WRONG.items()}, "webdav": "received 401"}


@pytest.mark.parametrize("kind", WRITABLE)
def test_wrong_key_is_refused_and_said(world: World, kind: str) -> None:
    with serve(kind, world.root / kind) as server:
        settings = make_settings(kind, server)
        key, message = WRONG[kind]
        stranger = str(Path(server.password).with_name("stranger")) if kind == "ssh" else "wrong"
        world.use_remote(**settings | {key: stranger})
        said = world.fail_to_pull()
        assert message in said or (kind in VAGUE and VAGUE[kind] in said)
        assert f": not let in: {REFUSED[kind]}" in world.fail_to_check()
        status, said = world.run(world.maintainer, "dvc", "push", check=False)
        assert status != 0
        assert message in said
        world.use_remote(**settings)
        world.run(world.maintainer, "dvc", "push")
        world.check_pull()


DOWN = {
    "s3": "Could not connect to the endpoint URL",
    "ssh": "Connect call failed",
    "webdav": "Connection refused",
    "http": "Connect call failed",
}
# All that DVC says of a remote that does not answer; why, a check says. The docs say so.
VAGUE = {"webdav": "Missing cache files", "http": "Missing cache files"}


@pytest.mark.parametrize("kind", DOWN)
def test_server_that_is_down_is_said_within_seconds(world: World, kind: str) -> None:
    if kind != "http":
        require_plugin(kind)
    nobody = Server(None, find_free_port(), "maintainer", str(world.root / "key"), world.root)
    if kind == "ssh":
        run(world.root, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", nobody.password)
    world.use_remote(**make_settings(kind, nobody))
    assert VAGUE.get(kind, DOWN[kind]) in world.fail_to_pull()
    assert DOWN[kind] in world.fail_to_check()


@pytest.mark.parametrize("kind", WRITABLE)
def test_corrupted_file_fails_a_pull_and_can_be_mended(world: World, kind: str) -> None:
    with serve(kind, world.root / kind) as server:
        world.use_remote(**make_settings(kind, server))
        world.run(world.maintainer, "dvc", "push")
        right = (world.maintainer / PRODUCT / "questions_eval.json").read_bytes()
        stored = find_stored(server.folder, right)
        stored.write_bytes(right[:-3] + b"X" + right[-2:])
        world.fail_to_pull()
        found = f"corrupted: {PRODUCT}/questions_eval.json ({stored.parent.name}/{stored.name})"
        assert found in world.mend()
        assert stored.read_bytes() == right
        world.check_pull()


def test_corrupted_list_of_files_is_seen_and_can_be_mended(world: World) -> None:
    with serve("s3", world.root / "s3") as server:
        world.use_remote(**make_settings("s3", server))
        world.run(world.maintainer, "dvc", "push")
        (stored,) = server.folder.rglob("*.dir")
        stored.write_bytes(stored.read_bytes().replace(b"eval", b"evil"))
        # It still reads as a list: the pull takes it, and the status tells.
        world.run(world.teammate, "dvc", "pull")
        status = world.run(world.teammate, "dvc", "status")[1]
        assert re.search(rf"not in cache: +{PRODUCT}\n", status)
        assert f"corrupted: {PRODUCT}/ ({stored.parent.name}/{stored.name})" in world.mend()
        world.check_pull()


def test_corrupted_file_is_taken_where_nobody_verifies(world: World) -> None:
    # Why `verify` is set everywhere. Where this fails, DVC has learnt to look.
    with serve("webdav", world.root / "webdav") as server:
        world.use_remote(**make_settings("webdav", server) | {"verify": "false"})
        world.run(world.maintainer, "dvc", "push")
        right = (world.maintainer / PRODUCT / "questions_eval.json").read_bytes()
        find_stored(server.folder, right).write_bytes(right[:-3] + b"X" + right[-2:])
        world.run(world.teammate, "dvc", "pull")
        assert (world.teammate / PRODUCT / "questions_eval.json").read_bytes() != right


def test_corrupted_file_fails_a_reader_over_http(world: World) -> None:
    folder = world.root / "files"
    world.use_remote(url=str(folder), verify="true")
    world.run(world.maintainer, "dvc", "push")
    with serve("http", folder) as server:
        world.use_remote(**make_settings("http", server))
        right = (world.maintainer / PRODUCT / "questions_eval.json").read_bytes()
        stored = find_stored(server.folder, right)
        stored.chmod(0o644)
        stored.write_bytes(right[:-3] + b"X" + right[-2:])
        world.fail_to_pull()
        stored.write_bytes(right)
        world.check_pull()


def test_missing_product_fails_a_pull_by_name_and_not_one_that_allows_it(world: World) -> None:
    world.use_remote(url=str(world.root / "nothing"), verify="true")
    assert "Missing cache files" in world.fail_to_pull()
    assert world.run(world.teammate, "dvc", "pull", "--allow-missing")[0] == 0
    assert not (world.teammate / PRODUCT).exists()
