"""`pytest` without options says which tests it skips and leaves out, and why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

pytestmark = pytest.mark.slow

SOME_TESTS = """
import pytest

def test_that_runs():
    pass

def test_that_lacks_something():
    pytest.skip("no boat")

@pytest.mark.slow
def test_that_takes_minutes():
    pass
"""


def test_skipped_tests_are_named_with_their_reason_and_slow_ones_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "test_boats.py"
    path.write_text(SOME_TESTS, encoding="utf-8")
    settings = ("-c", "pyproject.toml", "--rootdir", ".", "-p", "tests.conftest")
    said = run(ROOT, "python", "-m", "pytest", *settings, str(path)).stdout
    assert "1 passed, 1 skipped" in said
    assert "test_boats.py:8: no boat" in said
    assert "Left out: tests that take minutes, run by pytest -m slow" in said
