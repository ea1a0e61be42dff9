"""docs/evaluating.md: its snippet and its transcript, in a checkout that has run."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

TEXT = (ROOT / "docs/evaluating.md").read_text(encoding="utf-8")
(SNIPPET,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
(TRANSCRIPT,) = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_transcript_is_what_the_command_prints(finished: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(finished, tmp_path / "copy", symlinks=True)
    run(folder, sys.executable, "-c", SNIPPET)
    command, printed = TRANSCRIPT
    program, *arguments = command.split()
    assert program == "answerkey"
    done = run(folder, sys.executable, "-m", "answerkey.command", *arguments)
    assert done.stdout == printed
    written = set(re.findall(r"`([\w]+\.(?:html|jsonl?))`", TEXT.split("then has")[1]))
    assert written == {path.name for path in (folder / "reports/evaluation").iterdir()}
