"""The examples stand in the docs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.paths import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)
