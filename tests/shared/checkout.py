"""A checkout of this repository in a temporary folder, to run DVC in as its users do."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.shared.paths import ROOT

PRODUCT = ("data/questions", "data/exports", "data/databases")


def run(
    folder: Path, *command: str, environment: dict[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; `python` and `dvc` are those of this test run."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {**os.environ, "PATH": path, "DVC_NO_ANALYTICS": "1", **(environment or {})}
    variables.pop("PYTHONPATH", None)
    if command[0] == "dvc":
        command = (sys.executable, "-m", *command)
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=1800
    )
    if check and done.returncode:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{output(done)}")
    return done


def output(done: subprocess.CompletedProcess[str]) -> str:
    """Everything that a command printed."""
    return done.stdout + done.stderr


def make_checkout(folder: Path) -> Path:
    """The files that git knows or would add, as they are now, committed in a new repository."""
    listed = run(ROOT, "git", "ls-files", "-co", "--exclude-standard", "-z").stdout
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    run(folder, "git", "init", "-q", "-b", "main")
    commit(folder, "All files")
    return folder


def commit(folder: Path, message: str) -> None:
    """Commit everything."""
    run(folder, "git", "add", "-A")
    name = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    run(folder, "git", *name, "commit", "-q", "--allow-empty", "-m", message)


def hash_tree(folder: Path, *parts: str) -> dict[str, str]:
    """sha256 of each file below some parts of a folder, by its path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for part in parts
        for path in sorted((folder / part).rglob("*"))
        if path.is_file()
    }


def stages_to_run(text: str) -> list[str]:
    """The stages that `dvc repro` said it runs, or would run."""
    return [line.split("'")[1] for line in text.splitlines() if line.startswith("Running stage '")]
