"""A small repository, a maintainer's and a teammate's clone of it, and remotes as docs/sharing.md
sets them up, on real servers."""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.shared.checkout import commit, hash_tree, output, run
from tests.shared.paths import ROOT
from tests.shared.remote_servers import (
    Server,
    require_plugin,
    serve_http,
    serve_s3,
    serve_ssh,
    serve_webdav,
)
from tests.shared.transcripts import read_section, read_steps

DOCS = ROOT / "docs/sharing.md"
SECTIONS = {"s3": "S3", "ssh": "SSH", "webdav": "WebDAV", "http": "HTTP for readers"}
SETTING = r"dvc remote modify (?:--local )?{} (\w+) (\S+)$"
WRITABLE = ("s3", "ssh", "webdav")
PRODUCT = "data/questions"
ENOUGH_S = 30  # a clear failure takes a few seconds; DVC itself starts slowly on a busy machine


@dataclass
class World:
    """A maintainer's repository, a teammate's empty clone of it, and how to call them."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def maintainer(self) -> Path:
        return self.root / "maintainer"

    @property
    def teammate(self) -> Path:
        return self.root / "teammate"

    def run(self, folder: Path, *command: str, check: bool = True) -> tuple[int, str]:
        """Status and output of a command."""
        done = run(folder, *command, environment=self.environment, check=check)
        return done.returncode, output(done)

    def use_remote(self, **settings: str) -> None:
        """Make a remote of these settings the default of both clones."""
        lines = ["[core]", "    remote = team", "['remote \"team\"']"]
        lines += [f"    {key} = {value}" for key, value in settings.items()]
        for folder in (self.maintainer, self.teammate):
            (folder / ".dvc/config.local").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def fail_to_pull(self) -> str:
        """What a pull says that fails soon, and leaves nothing behind."""
        started = time.monotonic()
        status, said = self.run(self.teammate, "dvc", "pull", check=False)
        assert status != 0, said
        assert time.monotonic() - started < ENOUGH_S, said
        assert not (self.teammate / PRODUCT).exists()
        return said

    def check_remote(self, *options: str, by: str = "teammate") -> tuple[int, str]:
        """Status and output of the check of a remote, in somebody's clone."""
        command = ("python", "-m", "answerkey.command", "check-remote")
        return self.run(self.root / by, *command, *options, check=False)

    def fail_to_check(self) -> str:
        """What the check of a remote says that cannot be read."""
        status, said = self.check_remote()
        assert status == 1
        assert said.startswith("ERROR: ")
        return said

    def mend(self) -> str:
        """What the way to mend a remote says, as the docs have it."""
        steps = read_steps(read_section(DOCS, "A wrong file on the server"))
        (command,) = [step.command for step in steps if step.command.startswith("answerkey")]
        said = self.run(self.maintainer, "bash", "-c", command)[1]
        self.run(self.maintainer, "dvc", "push")
        return said

    def check_pull(self) -> None:
        """A pull that succeeds gives what the maintainer has."""
        self.run(self.teammate, "dvc", "pull")
        assert hash_tree(self.teammate, PRODUCT) == hash_tree(self.maintainer, PRODUCT)


def make_repository(folder: Path) -> Path:
    """A repository with three files in DVC and the committed configuration of this project."""
    (folder / PRODUCT).mkdir(parents=True)
    (folder / ".dvc").mkdir()
    for name in ("config", ".gitignore"):
        shutil.copy2(ROOT / ".dvc" / name, folder / ".dvc" / name)
    for name in ("questions_train.json", "questions_eval.json", "audit.jsonl"):
        (folder / PRODUCT / name).write_text(f'["{name}"]\n' * 20_000, encoding="utf-8")
    run(folder, "git", "init", "-q", "-b", "main")
    run(folder, "dvc", "add", "-q", PRODUCT)
    commit(folder, "A product")
    return folder


def make_world(repository: Path, root: Path) -> World:
    """A maintainer who has the repository and its data, and a teammate who has cloned it."""
    made = World(root, {"HOME": str(root), "AWS_MAX_ATTEMPTS": "1"})
    shutil.copytree(repository, made.maintainer)
    run(root, "git", "clone", "-q", str(repository), str(made.teammate))
    return made


def read_settings(kind: str) -> dict[str, str]:
    """The settings of a remote that the docs show, without those that name a server or a person."""
    pattern = SETTING.format("readers" if kind == "http" else "team")
    found = dict(re.findall(pattern, read_section(DOCS, SECTIONS[kind]), re.MULTILINE))
    personal = ("endpointurl", "access_key_id", "secret_access_key", "user", "password", "keyfile")
    kept = {key: value for key, value in found.items() if key not in personal}
    assert kept["verify"] == "true"
    assert any("timeout" in key for key in kept)
    return kept


def make_settings(kind: str, server: Server) -> dict[str, str]:
    """The settings of a remote on a server of the test, as the docs have them."""
    settings = read_settings(kind)
    place = f"127.0.0.1:{server.port}"
    if kind == "s3":
        login = {"access_key_id": server.user, "secret_access_key": server.password}
        return {"url": "s3://datasets/small", "endpointurl": f"http://{place}", **settings, **login}
    if kind == "ssh":
        login = {"user": server.user, "keyfile": server.password}
        return {"url": f"ssh://{place}{server.folder}/small", **settings, **login}
    if kind == "webdav":
        login = {"user": server.user, "password": server.password}
        return {"url": f"webdav://{place}", **settings, **login}
    return {"url": f"http://{place}", **settings}


@contextlib.contextmanager
def serve(kind: str, folder: Path) -> Iterator[Server]:
    """A server of a kind, where DVC can speak to it."""
    starts: dict[str, Callable] = {"s3": serve_s3, "ssh": serve_ssh, "webdav": serve_webdav}
    if kind != "http":
        require_plugin(kind)
    with starts.get(kind, serve_http)(folder) as server:
        yield server


def find_stored(folder: Path, content: bytes) -> Path:
    """The file in which a remote keeps some content."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    (found,) = [path for path in paths if path.read_bytes() == content]
    return found
