"""docs/sharing.md tells the truth: its transcripts run, against real servers."""

from __future__ import annotations

import configparser
import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.shared.checkout import hash_tree, run
from tests.shared.paths import ROOT
from tests.shared.remote_servers import (
    Server,
    require_plugin,
    serve_http,
    serve_s3,
    serve_ssh,
    serve_webdav,
)
from tests.shared.transcripts import Scene, Step, read_section, read_steps

DOCS = ROOT / "docs/sharing.md"
REPOSITORY = "https://git.example.org/team/answerkey.git"
PUSHED = (
    *("data/databases", "data/interim", "data/test_suites", "data/questions", "data/exports"),
    "reports",
)


@pytest.fixture
def scene(finished: Path, tmp_path: Path) -> Scene:
    """A git server and a maintainer whose clone holds the dataset; nobody else has anything."""
    git = tmp_path / "git/answerkey.git"
    run(tmp_path, "git", "clone", "-q", "--bare", str(finished), str(git))
    clone = tmp_path / "maintainer/answerkey"
    shutil.copytree(finished, clone, symlinks=True)
    run(clone, "git", "remote", "add", "origin", f"file://{git}")
    run(clone, "git", "fetch", "-q")
    run(clone, "git", "branch", "-q", "--set-upstream-to", "origin/main")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Tester\nemail = tester@example.org\n"
        "[init]\ndefaultBranch = main\n[advice]\ndetachedHead = false\n",
        encoding="utf-8",
    )
    environment = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "AWS_MAX_ATTEMPTS": "1",
    }
    names = {REPOSITORY: f"file://{git}", "/srv/answerkey-storage": str(tmp_path / "storage")}
    return Scene(tmp_path, names, environment, {"maintainer": clone})


def check_teammate(scene: Scene) -> None:
    """What a teammate has pulled is what the maintainer has made, and nothing besides."""
    teammate, maintainer = scene.folders["teammate"], scene.folders["maintainer"]
    assert hash_tree(teammate, *PUSHED)
    assert hash_tree(teammate, *PUSHED) == hash_tree(maintainer, *PUSHED)
    assert "up to date" in run(teammate, "dvc", "status").stdout
    committed = (teammate / ".dvc/config").read_text(encoding="utf-8")
    assert not re.search("password|secret|access_key|keyfile|user =", committed)


def forget(scene: Scene, actor: str) -> None:
    """Take pulled data away from somebody, as though they had just cloned."""
    folder = scene.folders[actor]
    for path in (".dvc/cache", *PUSHED):
        place = folder / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


@contextlib.contextmanager
def serve_team(kind: str, scene: Scene) -> Iterator[Server]:
    """A server of one kind, by whose names the scene knows it."""
    folder = scene.root / kind
    if kind == "s3":
        require_plugin("s3")
        with serve_s3(folder) as server:
            names = {"https://s3.example.org": f"http://127.0.0.1:{server.port}"}
            scene.names = {**scene.names, **names, "SECRET": server.password}
            yield server
    elif kind == "ssh":
        require_plugin("ssh")
        with serve_ssh(folder) as server:
            (scene.root / "home/.ssh").mkdir()
            shutil.copy2(server.password, scene.root / "home/.ssh/id_ed25519")
            url = f"ssh://127.0.0.1:{server.port}{folder}/answerkey"
            names = {"ssh://files.example.org/srv/answerkey": url}
            scene.names = {**scene.names, **names, "user maintainer": f"user {server.user}"}
            yield server
    else:
        require_plugin("webdav")
        (folder / "answerkey").mkdir(parents=True)
        with serve_webdav(folder) as server:
            names = {"webdavs://files.example.org": f"webdav://127.0.0.1:{server.port}"}
            scene.names = {**scene.names, **names, "SECRET": server.password}
            yield server


def test_default_remote_is_checked_and_nothing_is_reported_to_anyone() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".dvc/config", encoding="utf-8")
    assert config["core"]["analytics"] == "false"
    default = config[f"'remote \"{config['core']['remote']}\"'"]
    assert default["verify"] == "true"
    assert default["url"] == "../../answerkey-storage"
    assert not re.search("password|secret|key_id|keyfile", str(dict(default)))


def test_every_remote_in_the_docs_is_verified() -> None:
    text = DOCS.read_text(encoding="utf-8")
    titles = ("S3", "SSH", "WebDAV", "HTTP for readers")
    for section in (read_section(DOCS, title) for title in titles):
        for name in re.findall(r"dvc remote add (?:--default )?(\w+) ", section):
            assert f"dvc remote modify {name} verify true" in section
    secrets = re.findall(r"dvc remote modify.* (?:password|secret_access_key|keyfile) .*", text)
    assert secrets
    assert all("--local" in line for line in secrets)


def read_teammate(title: str, *, with_keys: bool = True) -> list[Step]:
    """Return what a teammate does: clone, set the same `--local` lines as the maintainer, pull."""
    disk = [step for step in read_steps(read_section(DOCS, "A shared disk")) if is_teammates(step)]
    clone, enter, _beside, pull = disk[:4]
    steps = read_steps(read_section(DOCS, title))
    keys = [replace(step, actor="teammate") for step in steps if "--local" in step.command]
    return [clone, enter, *(keys if with_keys else []), pull]


def is_teammates(step: Step) -> bool:
    """Whether a teammate types it."""
    return step.actor == "teammate"


def is_check(step: Step) -> bool:
    """Whether a step compares data with dvc.lock."""
    return step.command.startswith("dvc") and "status" in step.command


@pytest.mark.slow
def test_teammates_share_a_disk(scene: Scene) -> None:
    scene.play(read_steps(read_section(DOCS, "A shared disk")))
    check_teammate(scene)
    (check,) = [step for step in read_steps(read_section(DOCS, "A shared disk")) if is_check(step)]
    (scene.folders["teammate"] / "data/questions/questions_eval.json").unlink()
    said = scene.run_step(check).stdout
    assert "data/questions" in said
    assert "up to date" not in said


@pytest.mark.slow
@pytest.mark.parametrize(("title", "kind"), [("SSH", "ssh"), ("WebDAV", "webdav")])
def test_teammates_share_over_a_server(scene: Scene, title: str, kind: str) -> None:
    with serve_team(kind, scene):
        scene.play(read_steps(read_section(DOCS, title)) + read_teammate(title))
        check_teammate(scene)


@pytest.mark.slow
def test_teammates_share_over_s3_and_mend_a_corrupted_file(scene: Scene) -> None:
    with serve_team("s3", scene) as server:
        scene.play(read_steps(read_section(DOCS, "S3")) + read_teammate("S3"))
        check_teammate(scene)
        scene.play(read_steps(read_section(DOCS, "When something is wrong")))
        forget(scene, "teammate")
        right = (scene.folders["maintainer"] / "data/questions/questions_eval.json").read_bytes()
        stored = [path for path in server.folder.rglob("*") if path.is_file()]
        (place,) = [path for path in stored if path.read_bytes() == right]
        place.write_bytes(right.replace(b"easy", b"hard", 1))
        scene.play(read_steps(read_section(DOCS, "A wrong file on the server")))
        check_teammate(scene)


@pytest.mark.slow
def test_readers_read_over_http_what_maintainers_write(scene: Scene) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serve_team("webdav", scene))
        titles = ("WebDAV", "HTTP for readers")
        steps = [step for title in titles for step in read_steps(read_section(DOCS, title))]
        web = stack.enter_context(serve_http(server.folder))
        names = {"https://data.example.org": f"http://127.0.0.1:{web.port}"}
        scene.names = {**scene.names, **names}
        scene.play(steps + read_teammate("HTTP for readers", with_keys=False))
        check_teammate(scene)
        assert not (scene.folders["teammate"] / ".dvc/config.local").exists()
        done = run(scene.folders["teammate"], "dvc", "push", check=False)
        assert done.returncode == 0, "a push of what is there already asks for nothing"

        scene.play(read_steps(read_section(DOCS, "Without a clone")))
        made = scene.folders["maintainer"] / "data"
        right = (made / "questions/questions_eval.json").read_bytes()
        reader = scene.root / "reader"
        assert (reader / "questions_eval.json").read_bytes() == right
        taken, exported = reader / "answerkey", made / "exports/huggingface"
        assert hash_tree(taken, ".") == hash_tree(exported, ".")
