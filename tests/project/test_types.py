"""What the type checker reads: every room."""

from __future__ import annotations

import tomllib

from tests.shared.paths import ROOT


def test_no_room_is_left_out_by_the_type_checker() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
    assert settings["strict"]
    assert settings["files"] == ["answerkey", "stages"]
    assert not any(each.get("ignore_errors") for each in settings["overrides"])
