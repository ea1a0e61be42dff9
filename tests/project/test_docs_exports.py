"""README.md and docs on exports: every snippet runs, every path that they name is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.transcripts import read_blocks

DOCS = ("README.md", "docs/exports.md", "docs/environments.md")
# What a snippet imports and not every machine has: the package, and where it comes from.
OPTIONAL = {
    "skyrl_gym": ("skyrl_gym", "needs the extra `skyrl`"),
    "answerkey.environments.openenv": ("openenv", "OpenEnv has an environment of its own"),
    "answerkey.environments.inspect_ai": ("inspect_ai", "inspect_ai has an environment of its own"),
    "oumi.core.registry": ("oumi", "oumi has an environment of its own"),
    "answerkey_text_to_sql": ("verifiers", "verifiers has an environment of its own"),
}


def name_snippet(text: str) -> str:
    """The page of a snippet, or which libraries it imports."""
    return "+".join(re.findall(r"^(?:import|from) ([\w.]+)", text, re.MULTILINE)) or text


SNIPPETS = [(name, code) for name in DOCS for code in read_blocks(ROOT / name, "python")]
COMMANDS = [
    (name, line)
    for name in DOCS
    for block in read_blocks(ROOT / name, "")
    for line in block.replace("\\\n", "").splitlines()
    if line.startswith(("python examples/", "python -m answerkey.", "sqlite-utils "))
]


@pytest.mark.filterwarnings("ignore")  # of libraries
@pytest.mark.parametrize(("name", "code"), SNIPPETS, ids=name_snippet)
def test_snippet_runs(inside, tmp_path, monkeypatch, name, code):
    for module, (package, reason) in OPTIONAL.items():
        if f"import {module}" in code or f"from {module} import" in code:
            pytest.importorskip(package, reason=reason)
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(ROOT / "environments/answerkey_text_to_sql")
    if "datasets" in code:
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path))
    exec(compile(code, name, "exec"), {"__name__": "__main__"})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "line"), COMMANDS, ids=range(len(COMMANDS)))
def test_command_runs(inside, name, line):
    program, *arguments = shlex.split(line)
    if program == "sqlite-utils":
        pytest.importorskip("sqlite_utils", reason="needs the extra `browse`")
        arguments = ["-m", "sqlite_utils", *arguments]
    elif arguments[0] != "-m":
        arguments[0] = str(ROOT / arguments[0])
    assert run(inside.folder, "python", *arguments).stdout.strip(), f"{name}: {line}"


@pytest.mark.parametrize("folder", ["huggingface", "verl", "skyrl", "trl", "openenv"])
def test_list_of_files_is_complete(exported, folder):
    listing = read_blocks(ROOT / "docs/exports.md", "")[0]
    files = {
        line.split()[0] + name.strip(" ,")
        for line in listing.splitlines()
        for name in re.findall(
            r"\b[\w.]+\.(?:parquet|jsonl|json|yaml|md)\b", line.partition("  ")[2]
        )
    }
    written = {
        path.relative_to(exported.folder).as_posix()
        for path in Path(exported.exports / folder).rglob("*")
        if path.is_file()
    }
    assert {file for file in files if f"/{folder}/" in file} == written
