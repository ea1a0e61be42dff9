"""Every benchmark that README and docs show can be started, with the options shown."""

from __future__ import annotations

import re

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

PAGES = ("README.md", "benchmarks/README.md", "docs/scaling.md")
COMMANDS = sorted(
    {
        (found[1], option)
        for page in PAGES
        for found in re.finditer(
            r"python (benchmarks/\w+\.py)([^#`\n]*)", (ROOT / page).read_text(encoding="utf-8")
        )
        for option in re.findall(r"--[\w-]+", found[2])
    }
)


def test_there_are_commands() -> None:
    assert len({path for path, _ in COMMANDS}) >= 3


@pytest.mark.parametrize(("path", "option"), COMMANDS)
def test_benchmark_starts_and_knows_its_option(path: str, option: str) -> None:
    assert option in run(ROOT, "python", path, "--help").stdout
