"""docs/rollouts.md: its snippet and its transcripts, in a checkout that has run."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

TEXT = (ROOT / "docs/rollouts.md").read_text(encoding="utf-8")


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_transcripts_are_what_the_commands_print(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "copy", symlinks=True)
    (snippet,) = find_blocks("python")
    run(folder, sys.executable, "-c", snippet)
    for shown in find_blocks("console"):
        assert replay(folder, shown) == shown


def replay(folder: Path, shown: str) -> str:
    """The transcript as it is now; of commands that DVC runs, what the stages say."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", shown, re.MULTILINE):
        done = run(folder, "bash", "-c", command)
        lines += [f"$ {command}\n", done.stdout, done.stderr]
    return "".join(lines)
