"""docs/test-suites.md: what it names is there, and it lists all readings."""

from __future__ import annotations

import re

from tests.shared.paths import ROOT

TEXT = (ROOT / "docs/test-suites.md").read_text(encoding="utf-8")


def test_paths_that_are_named_exist() -> None:
    paths = set(re.findall(r"\b(?:answerkey|benchmarks|docs)/[\w./-]*\w", TEXT))
    assert len(paths) >= 3
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_all_readings_are_listed() -> None:
    code = (ROOT / "answerkey/suites/reading_rules.py").read_text(encoding="utf-8")
    named = set(re.findall(r'yield "(\w+)"', code)) - {"code_by_heart", "value_by_heart"}
    listed = set(re.findall(r"`(\w+)`", TEXT.split("## Readings")[1].split("## One question")[0]))
    assert named == listed - {"latent_ambiguity", "models_agree"}
