"""What tests of a whole project share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared.installed import Installed


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    (wheel,) = distributions.glob("*.whl")
    return Installed(tmp_path_factory.mktemp("installed"), wheel)
