"""examples/train_grpo.py: TRL trains a model on the sample, and loss and reward move."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

COMMAND = ".venv/trl/bin/python examples/train_grpo.py"
NEEDED = (".venv/trl", "data/exports/trl")


@pytest.mark.slow
def test_loss_falls_and_reward_rises(tmp_path: Path) -> None:
    for path in NEEDED:
        if not (ROOT / path).is_dir():
            pytest.skip(f"needs {path}: docs/exports.md")
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
