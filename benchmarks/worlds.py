"""Worlds to measure in: checkouts of this repository in a temporary folder, set to some corpus."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from measure import Cost, run

ROOT = Path(__file__).resolve().parent.parent
_MADE = (
    *(f"data/{name}" for name in ("databases", "interim", "questions", "exports")),
    "reports",
)


class World:
    """A checkout: its stages can be run as processes or by DVC, and its params changed."""

    def __init__(self, folder: Path, corpus: Path, *, source: Path = ROOT) -> None:
        """Copy the files of a checkout that git tracks or would add. Choose every database of a
        corpus in the layout of a Spider release, with no target for the selection."""
        self.folder = folder
        _copy_checkout(source, folder)
        self.set_param("corpus", "local")
        self.set_param("corpora.local.root", str(corpus.resolve()))
        self.set_param("corpora.local.db_list", "all")
        targets = self._read_params()["select_questions"]["targets"]
        for name in set(targets) - {"difficulty_shares_of", "tolerance"}:
            self.set_param(f"select_questions.targets.{name}", None)

    def _read_params(self) -> dict[str, Any]:
        return yaml.safe_load((self.folder / "params.yaml").read_text(encoding="utf-8"))

    def set_param(self, key: str, value: Any) -> None:
        """Change one value of params.yaml, by its dotted key, and what follows in dvc.yaml."""
        params = self._read_params()
        *parts, last = key.split(".")
        section = params
        for part in parts:
            section = section[part]
        section[last] = value
        text = yaml.safe_dump(params, sort_keys=False, allow_unicode=True)
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")
        if key == "corpus":  # a stage depends on the folder of a corpus that is chosen
            path = self.folder / "dvc.yaml"
            deps = path.read_text(encoding="utf-8")
            root = f"${{corpora.{value}.root}}"
            path.write_text(re.sub(r"\$\{corpora\.\w+\.root\}", root, deps), encoding="utf-8")

    def commands(self) -> dict[str, str]:
        """Return the command of every stage; in the order of dvc.yaml they can run."""
        text = (self.folder / "dvc.yaml").read_text(encoding="utf-8")
        return {name: stage["cmd"] for name, stage in yaml.safe_load(text)["stages"].items()}

    def clear(self) -> None:
        """Remove everything that stages made."""
        for name in _MADE:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def forget(self, name: str) -> None:
        """Remove the shards of a stage, and their keys."""
        shutil.rmtree(self.folder / "data" / "interim" / name)
        (self.folder / "data" / "interim" / f"{name}.keys").unlink()

    def run_stage(self, name: str) -> Cost:
        """Return the cost of one stage as a process, without DVC."""
        return self.listen_to_stage(name)[0]

    def listen_to_stage(self, name: str) -> tuple[Cost, str]:
        """Return the same with the stage's output."""
        program, *arguments = shlex.split(self.commands()[name])
        if program != "python":
            raise ValueError(f"Stage {name}: expected a command of `python`, found {program!r}")
        return run(sys.executable, *arguments, folder=self.folder)

    def run_stages(self, *, until: str | None = None) -> dict[str, Cost]:
        """Run the stages one after another, up to one that is left out. Return the cost of each."""
        self.clear()
        costs = {}
        for name in self.commands():
            if name == until:
                break
            costs[name] = self.run_stage(name)
        return costs

    def repro(self) -> tuple[Cost, str]:
        """Return the cost of `dvc repro`, which uses nothing from its cache of earlier runs."""
        return run(sys.executable, "-m", "dvc", "repro", "--no-run-cache", folder=self.folder)


def look_up(params: dict[str, Any], key: str) -> Any:
    """Return the value of a dotted key."""
    for part in key.split("."):
        params = params[part]
    return params


def make_bare_dag(world: World, folder: Path) -> None:
    """Make a project with the same stages, dependencies and outs, in which every command is `true`,
    every file is one byte, and everything is up to date. Outs persist when a stage runs again,
    since `true` makes nothing."""
    shutil.copytree(world.folder / ".dvc", folder / ".dvc", ignore=shutil.ignore_patterns("cache"))
    definition = yaml.safe_load((world.folder / "dvc.yaml").read_text(encoding="utf-8"))
    definition.pop("plots", None)
    shutil.copyfile(world.folder / "params.yaml", folder / "params.yaml")
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    params["corpora"]["local"]["root"] = "corpus"
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    paths = set()
    for stage in definition["stages"].values():
        stage["cmd"] = "true"
        for kind in ("deps", "outs", "metrics", "plots"):
            entries = [_read_entry(entry) for entry in stage.get(kind, ())]
            paths.update(
                re.sub(r"\$\{([\w.]+)\}", lambda key: look_up(params, key[1]), path)
                for path, _ in entries
            )
            if kind != "deps":
                stage[kind] = [{path: {**flags, "persist": True}} for path, flags in entries]
    for path in paths:
        if not any(other.startswith(f"{path}/") for other in paths):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("1", encoding="utf-8")
    (folder / "dvc.yaml").write_text(yaml.safe_dump(definition, sort_keys=False), encoding="utf-8")
    _start_repository(folder)
    run(sys.executable, "-m", "dvc", "commit", "--force", folder=folder)


def _read_entry(entry: str | dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    """Return the path and the flags of a dependency or an out."""
    return (entry, {}) if isinstance(entry, str) else next(iter(entry.items()))


def _copy_checkout(source: Path, folder: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=source,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (source / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, folder / name)
    _start_repository(folder)


def _start_repository(folder: Path) -> None:
    run("git", "init", "-q", folder=folder)
