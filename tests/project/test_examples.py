"""The example that trains a model by TRL."""

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
EXAMPLE = (ROOT / "examples/train_grpo.py").read_text(encoding="utf-8")
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
    lines = [line.partition(": ") for line in printed.splitlines()]  # some are the trainer's own
    figures = {name: values.split() for name, _, values in lines}
    loss, reward = (
        [float(value) for value in figures[name]] for name in ("SFT, loss", "GRPO, reward")
    )
    assert len(loss) == 50
    assert len(reward) == 20
    assert loss[-1] < loss[0] / 10
    assert mean(reward[-5:]) > mean(reward[:5])


@pytest.mark.slow
def test_reward_of_one_database_takes_answers_by_heart_and_that_of_suites_does_not(
    tmp_path: Path,
) -> None:
    skip_without_needs()
    options = ("--compare", "--questions", "6", "--grpo-steps", "40")
    assert f"python examples/train_grpo.py {' '.join(options)}\n" in EXAMPLE
    run(ROOT, *COMMAND.split(), *options, "--out", str(tmp_path))
    alone, suites = json.loads((tmp_path / "rewards.json").read_text(encoding="utf-8")).values()
    assert alone[0] == suites[0]  # the same model, before it learns from either
    assert all(step["on_suites"] <= step["on_database"] for step in alone + suites)
    last = {
        name: [mean(step[name] for step in history[-5:]) for history in (alone, suites)]
        for name in ("by_heart", "on_suites")
    }
    assert last["by_heart"][0] > 0.5 > last["by_heart"][1]
    assert last["on_suites"][0] < 0.5 < last["on_suites"][1]
    assert (tmp_path / "rewards.png").stat().st_size > 0
