"""The example that trains a model by TRL."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean, median

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)


PYTHON = ".venv/trl/bin/python"
COMMAND = f"{PYTHON} examples/train_grpo.py"
COMPARE = "examples/train_grpo.py --compare --seed 1 2 3 4 5 6 7 8"  # makes docs/rewards.png
NEEDED = (".venv/trl", "data/exports/trl")
History = dict[str, list[float]]
LAST = 5  # steps that say how a training ended


def skip_without_needs() -> None:
    for path in NEEDED:
        if not (ROOT / path).is_dir():
            pytest.skip(f"needs {path}: docs/exports.md")


def read_figures(printed: str, name: str) -> list[list[float]]:
    """The figures of each training that printed them under a name."""
    lines = (line.partition(f"{name}: ") for line in printed.splitlines())
    return [
        [*map(float, values.split())] for before, found, values in lines if found and not before
    ]


@pytest.mark.slow
def test_loss_falls_and_reward_rises(tmp_path: Path) -> None:
    skip_without_needs()
    assert COMMAND in (ROOT / "docs/exports.md").read_text(encoding="utf-8").splitlines()
    printed = run(ROOT, *COMMAND.split(), "--out", str(tmp_path)).stdout
    (loss,), (reward,) = (read_figures(printed, name) for name in ("SFT, loss", "GRPO, reward"))
    assert loss[-1] <= 0.1 < loss[0]
    assert len(loss) < 100  # where SFT ends, whatever the loss is
    assert len(reward) == 30
    assert reward[0] < 0.7  # SFT has left something to learn
    assert mean(reward[-LAST:]) > mean(reward[:LAST]) + 0.05


@pytest.mark.slow
def test_reward_of_suites_drives_memorized_answers_out(tmp_path: Path) -> None:
    skip_without_needs()
    options = ("--compare", "--seed", "9", "--out", str(tmp_path))
    run(ROOT, *COMMAND.split(), *options)
    assert (tmp_path / "rewards.png").stat().st_size > 0
    check_claim((tmp_path / "rewards.json").read_text(encoding="utf-8"), seeds=["9"])


def test_picture_shows_it_for_each_seed() -> None:
    seeds = COMPARE.partition("--seed ")[2].split()
    check_claim((ROOT / "docs/rewards.json").read_text(encoding="utf-8"), seeds=seeds)


def check_claim(text: str, *, seeds: list[str]) -> None:
    """Whatever the seed, suites leave few memorized answers and more right ones. The reward of one
    database may take either, and gets what it asks for."""
    alone, suites = json.loads(text).values()
    assert [*alone] == [*suites] == seeds
    for seed in seeds:
        for name, shares in alone[seed].items():  # the same model, before it learns from either
            assert shares[0] == suites[seed][name][0]
        for history in (alone[seed], suites[seed]):
            pairs = zip(history["on_suites"], history["on_database"], strict=True)
            assert all(on_suites <= on_database for on_suites, on_database in pairs)
        assert 0.25 < suites[seed]["memorized"][0] < 0.75
        assert find_last(suites[seed], "memorized") < 0.25
        assert find_last(suites[seed], "on_suites") > suites[seed]["on_suites"][0] + 0.1
        assert find_last(alone[seed], "on_database") > alone[seed]["on_database"][0]


def find_last(history: History, name: str) -> float:
    """The share in the last steps of a training."""
    return mean(history[name][-LAST:])


def is_memorized_right_more_often(history: History) -> bool:
    """Whether more of the memorized answers than of the SQL are right on the database at first."""
    memorized, both, right, _ = (shares[0] for shares in history.values())
    return both / memorized > (right - both) / (1 - memorized)


def test_readme_tells_the_numbers_of_the_picture() -> None:
    alone, suites = json.loads((ROOT / "docs/rewards.json").read_text(encoding="utf-8")).values()
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())

    def tell_last(name: str) -> str:
        values = [find_last(history, name) for history in suites.values()]
        return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"

    first = {name: median(each[name][0] for each in suites.values()) for name in suites["1"]}
    memorized = [each for each in alone.values() if is_memorized_right_more_often(each)]
    (other,) = (each for each in alone.values() if not is_memorized_right_more_often(each))
    least = min(find_last(each, "memorized") for each in memorized)
    most = max(find_last(each, "on_suites") for each in memorized)
    for sentence in (
        f"falls from {first['memorized']:.2f} to {tell_last('memorized')}",
        f"rises from {first['on_suites']:.2f} to {tell_last('on_suites')}",
        f"With {len(memorized)} of {len(alone)} seeds",
        f"at least {least:.2f} are memorized, and at most {most:.2f} are right on test suites",
        f"{find_last(other, 'memorized'):.2f} are memorized",
    ):
        assert sentence in told


@pytest.mark.parametrize("page", ["README.md", "docs/exports.md", "examples/train_grpo.py"])
def test_command_of_the_picture_is_written_in_full(page: str) -> None:
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    python = "python" if page.startswith("examples/") else PYTHON
    assert f"{python} {COMPARE}" in map(str.strip, lines)
