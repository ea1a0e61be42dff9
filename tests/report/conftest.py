"""What tests of the page share: a browser, and a page of a small corpus."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shared.report_world import build_report
from tests.shared.visits import launch_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launch_browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page to look at, whose folder has everything that it was made from."""
    return build_report(tmp_path_factory.mktemp("report"), max_answer_characters=400)
