"""A project of one's own where people work: in a folder of a larger repository, in a path with
spaces, with teammates, in a worktree, without git, and as another user than root."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.shared.checkout import hash_tree, output
from tests.shared.installed import Installed
from tests.shared.paths import ROOT
from tests.shared.shop_world import write_shop
from tests.shared.transcripts import Scene, find_block, read_section, read_steps

pytestmark = pytest.mark.slow

SHARING = ROOT / "docs/sharing.md"
PRODUCT = ("data/databases", "data/interim", "data/questions", "data/exports", "reports")
FILES = ("--database", "shop.db", "--questions", "questions.json")
USER = 54321  # whom no machine knows


@dataclass(frozen=True)
class Place:
    """A folder, and what commands find there. user: who runs them, if not the one of this run."""

    folder: Path
    environment: dict[str, str]
    user: int | None = None

    def run(self, script: str, *, check: bool = True) -> str:
        """Run a script of the shell, and return what it says."""
        options = [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
        program = ["/usr/bin/env", "setpriv", *options] if self.user else []
        done = subprocess.run(
            [*program, "/bin/sh", "-ec", script],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=1800,
        )
        assert not (check and done.returncode), output(done)
        return output(done)


def write_programs(folder: Path, python: str) -> str:
    """The commands of an environment, as an activated one has them; a value of PATH."""
    folder.mkdir(parents=True)
    for name in ("python", "answerkey", "dvc", "pip"):
        command = shlex.join([python, *(() if name == "python" else ("-m", name))])
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.fixture(scope="module")
def environment(
    installed: Installed,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, str]:
    """The variables of somebody who has installed the wheel, and git."""
    folder = tmp_path_factory.mktemp("somebody")
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Tester\nemail = tester@example.org\n"
        "[init]\ndefaultBranch = main\n[push]\nautoSetupRemote = true\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([write_programs(folder / "bin", installed.python), os.environ["PATH"]])
    config = str(home / ".config")
    return {"HOME": str(home), "XDG_CONFIG_HOME": config, "PATH": path, "DVC_NO_ANALYTICS": "1"}


@pytest.fixture(scope="module")
def monorepo(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A project in a folder of a repository that was there, with spaces in the path; it has run,
    and git's server knows it."""
    root = tmp_path_factory.mktemp("mono") / "our team"
    everything = Place(root / "everything", environment)
    write_shop(everything.folder)
    everything.run(
        "git init -q && git add . && git commit -qm 'What was there'"
        " && git clone -q --bare . ../everything.git && git remote add origin ../everything.git"
    )
    told = everything.run(f"answerkey init 'teams/our shop' {shlex.join(FILES)}")
    assert "git: a new repository" not in told
    project = Place(everything.folder / "teams/our shop", environment)
    project.run("dvc repro -q && answerkey validate")
    assert "up to date" in project.run("dvc status")
    project.run("git add . && git commit -qm 'Build the dataset' && git push -q && dvc push -q")
    assert (root / "our shop-storage").is_dir()
    assert project.run("git status --porcelain") == ""
    return project


def play(monorepo: Place, folder: Path, title: str, names: dict[str, str]) -> Scene:
    """Play a section of the page on sharing, with a copy of the project as the maintainer's."""
    team = monorepo.folder.parents[2]
    copy = folder / team.name
    shutil.copytree(team, copy, symlinks=True)
    home = folder / "home"  # some of it is written for all projects of a machine
    shutil.copytree(monorepo.environment["HOME"], home)
    own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    actor = {"maintainer": copy / monorepo.folder.relative_to(team)}
    scene = Scene(folder, names, monorepo.environment | own, actor)
    scene.play(read_steps(read_section(SHARING, title)))
    return scene


def test_teammate_has_the_dataset_after_four_lines(monorepo: Place, tmp_path: Path) -> None:
    names = {
        "https://git.example.org/team/shop.git": f"'{tmp_path}/our team/everything.git' shop",
        "cd shop": "cd 'shop/teams/our shop'",
        "/srv/shop-storage": str(tmp_path / "storage"),
        "pip install": "pip install --no-index",  # all that the lock names is here
    }
    lines = read_steps(read_section(SHARING, "Four lines for a teammate"))
    assert len([step for step in lines if step.actor == "teammate"]) == 4
    scene = play(monorepo, tmp_path, "Four lines for a teammate", names)
    teammate = Place(scene.folders["teammate"], dict(scene.environment))
    assert teammate.folder.name == "our shop"
    assert hash_tree(teammate.folder, *PRODUCT) == hash_tree(monorepo.folder, *PRODUCT)
    assert "up to date" in teammate.run("dvc status")
    assert teammate.run("git status --porcelain") == ""


def test_worktree_and_another_project_share_one_cache(monorepo: Place, tmp_path: Path) -> None:
    cache, idea = tmp_path / "cache", tmp_path / "idea"
    names = {"cd ../idea": f"cd '{idea}/teams/our shop'", "../idea": str(idea)}
    names["/srv/dvc-cache"] = str(cache)
    title = "One cache for projects, clones and worktrees"
    scene = play(monorepo, tmp_path, title, names)
    assert hash_tree(idea / "teams/our shop", *PRODUCT) == hash_tree(monorepo.folder, *PRODUCT)
    place = Place(tmp_path / "more", dict(scene.environment))
    write_shop(place.folder)
    place.run(f"answerkey init other {shlex.join(FILES)}")
    place.run("cd other && dvc repro -q download_databases && dvc status download_databases")
    database = hash_tree(place.folder / "other", "data/databases/shop")
    (sha256,) = database.values()
    assert list(hash_tree(cache, ".").values()).count(sha256) == 1
    for project in (idea / "teams/our shop", place.folder / "other"):
        assert not (project / ".dvc/cache").exists()
    own = Place(idea / "teams/our shop", dict(scene.environment))
    own.run("sed -i 's/easy_max_tables: 2/easy_max_tables: 1/' params.yaml && dvc repro -q")
    assert "up to date" in own.run("dvc status")


def test_folder_of_another_corpus_makes_nothing_stale(monorepo: Place, tmp_path: Path) -> None:
    shutil.copytree(monorepo.folder.parents[1], tmp_path / "copy", symlinks=True)
    project = Place(tmp_path / "copy/teams/our shop", monorepo.environment)
    for name in ("other/train.jsonl", "train_spider.json"):
        path = project.folder / "data/local" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("[]", encoding="utf-8")
    project.run("dvc add -q data/local/other")
    assert "up to date" in project.run("dvc status")
    (project.folder / "data/local/shop/notes.txt").write_text("ours", encoding="utf-8")
    project.run("dvc add -q data/local/shop")
    changed = re.findall(r"^(\w+):$", project.run("dvc status"), re.MULTILINE)
    assert changed == ["download_databases", "load_questions"]


def test_project_works_without_git(environment: dict[str, str], tmp_path: Path) -> None:
    programs = environment["PATH"].split(os.pathsep)[0]
    place = Place(tmp_path / "no git", environment | {"PATH": programs})
    write_shop(place.folder)
    assert "git: " not in place.run(f"answerkey init shop {shlex.join(FILES)}")
    project = Place(place.folder / "shop", place.environment)
    project.run("dvc repro -q && answerkey validate && dvc push -q")
    product = hash_tree(project.folder, *PRODUCT)
    for name in PRODUCT:
        shutil.rmtree(project.folder / name)
    shutil.rmtree(project.folder / ".dvc/cache")
    project.run("dvc pull -q")
    assert hash_tree(project.folder, *PRODUCT) == product
    assert "up to date" in project.run("dvc status")
    (line,) = project.run("answerkey compare HEAD", check=False).splitlines()
    assert "git" in line


# --- as another user


@pytest.fixture
def visitor(installed: Installed) -> Iterator[Place]:
    """A folder of another user, who may read the installed package, and nothing of ours."""
    if os.geteuid() != 0:
        pytest.skip("only root runs something as another user; this run is by another user")
    root = Path(tempfile.mkdtemp(prefix="answerkey-visitor-"))  # that of pytest is ours alone
    try:
        root.chmod(0o755)
        for name in ("home", "work"):
            (root / name).mkdir()
        write_shop(root / "work")
        given = re.search(r"^ENV (.+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
        variables = dict(word.split("=") for word in given[1].split())
        variables |= {"HOME": str(root / "home")}
        place = Place(root / "work", variables, USER)
        python = make_readable_environment(root, place, installed)
        path = [write_programs(root / "bin", python), "/usr/local/bin", "/usr/bin", "/bin"]
        variables["PATH"] = os.pathsep.join(path)
        for path in (root / "work", root / "home", *(root / "work").iterdir()):
            os.chown(path, USER, USER)
        yield place
    finally:
        shutil.rmtree(root)


def make_readable_environment(root: Path, place: Place, installed: Installed) -> str:
    """An environment with the installed package whose Python another user may run."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    pythons = [sys.executable, *(f"{folder}/{name}" for folder in ("/usr/local/bin", "/usr/bin"))]
    packages = [path for path in sys.path if path.endswith("site-packages")]
    for python in filter(os.path.exists, pythons):
        command = [python, "-m", "venv", "--clear", "--without-pip", str(root / "env")]
        subprocess.run(command, check=True, timeout=300)
        library = root / f"env/lib/{name}/site-packages"
        (library / "others.pth").write_text("\n".join(packages), encoding="utf-8")
        for path in installed.package.parent.glob("answerkey*"):
            shutil.copytree(path, library / path.name)
        made = str(root / "env/bin/python")
        program = f"{made} -c 'import dvc, answerkey.project.init; print(answerkey.__file__)'"
        if str(library) in place.run(program, check=False):
            return made
    pytest.skip("no other user may read the packages of this environment, or its Python")


def test_steps_of_the_container_work_as_a_user_who_has_no_name(visitor: Place) -> None:
    block = find_block(ROOT / "docs/your-database.md", "sh", "docker run")
    (script,) = re.findall(r"sh -ec '\n(.*?)'", block, re.DOTALL)
    visitor.run(script)
    project = Place(visitor.folder / "shop", visitor.environment, USER)
    assert "up to date" in project.run("dvc status && dvc push")
    for path in visitor.folder.rglob("*"):
        assert path.lstat().st_uid == USER, path


def test_what_another_user_lacks_is_said_in_one_line(visitor: Place) -> None:
    command = f"answerkey init own {shlex.join(FILES)}"
    nameless = {name: visitor.environment[name] for name in visitor.environment if name != "USER"}
    said = Place(visitor.folder, nameless, USER).run(command, check=False)
    assert said == (
        f"answerkey init: user {USER} has no name, and DVC asks for it: set one, as in"
        " `export USER=me`\n"
    )
    visitor.folder.chmod(0o555)
    said = visitor.run(command, check=False)
    assert said.endswith("Permission denied: run this as a user who may read and write there\n")
    visitor.folder.chmod(0o755)
    visitor.run("git init -q")
    (line,) = Place(visitor.folder, visitor.environment).run(command, check=False).splitlines()
    assert f"git config --global --add safe.directory {visitor.folder}" in line
    assert not (visitor.folder / "own").exists()
