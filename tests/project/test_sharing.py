"""docs/sharing.md tells the truth: its transcripts run, against real servers."""

from __future__ import annotations

import configparser
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.shared.checkout import hash_tree, output, run
from tests.shared.paths import ROOT
from tests.shared.remote_servers import Server, require_plugin, serve_s3
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


@pytest.fixture
def s3(scene: Scene) -> Iterator[Server]:
    """An S3 server, by whose names the scene knows it."""
    require_plugin("s3")
    with serve_s3(scene.root / "s3") as server:
        names = {"https://s3.example.org": f"http://127.0.0.1:{server.port}"}
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


def read_teammate() -> list[Step]:
    """What a teammate does: clone, set the same `--local` lines as the maintainer, pull."""
    disk = [step for step in read_steps(read_section(DOCS, "A shared disk")) if is_teammates(step)]
    clone, enter, _beside, pull = disk[:4]
    steps = read_steps(read_section(DOCS, "Storage of your own"))
    keys = [replace(step, actor="teammate") for step in steps if "--local" in step.command]
    return [clone, enter, *keys, pull]


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
def test_teammates_share_over_s3_and_mend_a_corrupted_file(scene: Scene, s3: Server) -> None:
    scene.play(read_steps(read_section(DOCS, "Storage of your own")) + read_teammate())
    check_teammate(scene)
    forget(scene, "teammate")
    maintainer, teammate = scene.folders["maintainer"], scene.folders["teammate"]
    right = (maintainer / "data/questions/questions_eval.json").read_bytes()
    stored = [path for path in s3.folder.rglob("*") if path.is_file()]
    (place,) = [path for path in stored if path.read_bytes() == right]
    place.write_bytes(right.replace(b"easy", b"hard", 1))
    pull = read_teammate()[-1].command.split()
    done = run(teammate, *pull, environment=scene.environment, check=False)
    assert done.returncode != 0
    assert "Checkout failed" in output(done)
    assert not (teammate / "data/questions/questions_eval.json").exists()
    # As the docs say: the remote's folder is emptied, and a clone with the right files pushes.
    s3.stop()  # it remembers what it has listed
    shutil.rmtree(s3.folder / "datasets/answerkey")
    with serve_s3(s3.folder, port=s3.port):
        run(maintainer, "dvc", "push", environment=scene.environment)
        run(teammate, *pull, environment=scene.environment)
    check_teammate(scene)


@pytest.mark.slow
def test_readers_take_one_file_of_a_version_without_a_clone(scene: Scene, s3: Server) -> None:
    scene.play(read_steps(read_section(DOCS, "Storage of your own")))
    keys = {"AWS_ACCESS_KEY_ID": s3.user, "AWS_SECRET_ACCESS_KEY": s3.password}
    scene.environment = {**scene.environment, **keys}
    scene.play(read_steps(read_section(DOCS, "Without a clone")))
    made = scene.folders["maintainer"] / "data"
    reader = scene.root / "reader"
    right = (made / "questions/questions_eval.json").read_bytes()
    assert (reader / "questions_eval.json").read_bytes() == right
    assert hash_tree(reader / "answerkey", ".") == hash_tree(made / "exports/huggingface", ".")
