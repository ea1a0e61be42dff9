"""docs/rollouts.md: its snippet and its transcripts, in a checkout that has run."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.transcripts import replay

PAGE = "docs/rollouts.md"


@pytest.mark.slow
def test_transcripts_are_those_of_a_run(
    finished: Path, tmp_path: Path, expect_page: Callable[[str, str], None]
) -> None:
    text = (ROOT / PAGE).read_text(encoding="utf-8")
    (snippet,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    folder = shutil.copytree(finished, tmp_path / "copy", symlinks=True)
    run(folder, sys.executable, "-c", snippet)
    expect_page(PAGE, replay(text, folder))
