"""An engine that this system does not run is an error that names the systems that do."""

from __future__ import annotations

import sys

import pytest

from answerkey.base.errors import InputError
from answerkey.engines.names import DUCKDB, POSTGRES
from answerkey.engines.opening import load_engine


@pytest.mark.parametrize("name", [DUCKDB, POSTGRES])
def test_windows_runs_sqlite_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(InputError, match=f"databases of {name} need Linux or macOS"):
        load_engine.__wrapped__(name)
