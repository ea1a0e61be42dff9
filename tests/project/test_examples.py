"""The examples stand in the docs, and TRL trains a model on the sample with one of them."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)


COMMAND = ".venv/trl/bin/python examples/train_grpo.py"
NEEDED = (".venv/trl", "data/exports/trl")


def skip_without_needs() -> None:
    for path in NEEDED:
        if not (ROOT / path).is_dir():
            pytest.skip(f"needs {path}: docs/exports.md")


@pytest.mark.slow
def test_loss_falls_and_reward_rises(tmp_path: Path) -> None:
    skip_without_needs()
    assert COMMAND in (ROOT / "docs/exports.md").read_text(encoding="utf-8").splitlines()
    printed = run(ROOT, *COMMAND.split(), "--out", str(tmp_path)).stdout
    figures = {
        name: [float(word) for word in values.split()]
        for name, _, values in (line.partition(":") for line in printed.splitlines()[-2:])
    }
    loss, reward = figures["SFT, loss"], figures["GRPO, reward"]
    assert len(loss) == 50
    assert len(reward) == 20
    assert loss[-1] < loss[0] / 10
    assert mean(reward[-5:]) > mean(reward[:5])


@pytest.mark.slow
def test_reward_of_one_database_takes_answers_by_heart_and_that_of_suites_does_not(
    tmp_path: Path,
) -> None:
    skip_without_needs()
    options = ("--compare", "--questions", "4", "--grpo-steps", "12", "--out", str(tmp_path))
    run(ROOT, *COMMAND.split(), *options)
    alone, suites = json.loads((tmp_path / "rewards.json").read_text(encoding="utf-8")).values()
    assert alone[0] == suites[0]  # the same model, before it learns from either
    assert all(step["on_suites"] <= step["on_database"] for step in alone + suites)
    assert suites[-1]["by_heart"] < alone[-1]["by_heart"]
    assert suites[-1]["on_suites"] > alone[-1]["on_suites"]
    assert (tmp_path / "rewards.png").stat().st_size > 0
