"""The README tells the truth: its numbers are of the last run, its transcripts as printed."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
METRICS = json.loads((ROOT / "metrics/counts.json").read_text(encoding="utf-8"))


def read_blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    blocks = [block for name, block in fences if name == language]
    assert blocks, language
    return blocks


def read_commands(transcript: str) -> list[tuple[str, str]]:
    """The commands of a transcript, each with what it printed."""
    parts = re.split(r"^\$ (.*)\n", transcript, flags=re.MULTILINE)
    assert parts[0] == ""
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def built(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme") / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    return folder


def test_numbers_of_the_selection_are_those_of_the_last_run() -> None:
    cells = METRICS["selection"]["cells"]
    for level in ("easy", "medium", "hard"):
        train, evaluation = (cells[split][level]["selected"] for split in ("train", "eval"))
        assert f"| {level} | {train} | {evaluation} | {train + evaluation} |" in README
    assert (
        f"Of the sample's {METRICS['loaded']} questions {METRICS['usable']} are usable,"
        f" and {METRICS['selected']} make up"
    ) in README


def test_reasons_are_those_of_the_last_run() -> None:
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", README, re.MULTILINE))
    counted = {reason: str(count) for reason, count in METRICS["excluded"].items() if count}
    assert told == counted


def test_speed_is_that_of_the_page_on_scale() -> None:
    pattern = r"[Aa] million\s+questions\s+take (\d+) minutes.*?no process more than (\d+) MB"
    scaling = (ROOT / "docs/scaling.md").read_text(encoding="utf-8")
    told = [re.search(pattern, text, re.DOTALL) for text in (README, scaling)]
    assert told[0].groups() == told[1].groups()


def test_every_folder_of_the_tree_exists() -> None:
    tree = next(block for block in read_blocks("") if "dvc.lock" in block)
    named = re.findall(r"^([\w./]+/)(?=\s)", tree, re.MULTILINE)
    made = ("data/interim/", "data/questions/", "data/exports/")
    assert len(named) > 5
    for name in named:
        assert name in made or (ROOT / name).is_dir(), name


@pytest.mark.slow
def test_record_is_one_of_the_product(built: Path) -> None:
    record = json.loads(read_blocks("json")[0])
    questions = json.loads((built / "data/questions/questions_train.json").read_text("utf-8"))
    assert [question for question in questions if list(question.items()) == list(record.items())]


@pytest.mark.slow
def test_tuning_prints_what_the_transcript_says(built: Path) -> None:
    for command, printed in read_commands(read_blocks("console")[0]):
        done = run(built, "bash", "-o", "pipefail", "-c", command)
        assert (done.stdout + done.stderr).strip() == printed.strip(), command
    assert (built / "dvc_plots/index.html").is_file()
    run(built, "git", "checkout", "-q", ".")
    run(built, "dvc", "checkout")


@pytest.mark.slow
def test_experiments_run_and_show_their_difference(built: Path) -> None:
    experiments = next(block for block in read_blocks("sh") if "dvc exp" in block)
    before = run(built, "git", "status", "--porcelain").stdout
    for command in experiments.splitlines():
        run(built, "bash", "-c", command)
    assert run(built, "git", "status", "--porcelain").stdout == before
    # The table above is cut to the width of the terminal; this one is not.
    shown = run(built, "dvc", "exp", "show", "--only-changed", "--csv").stdout
    assert "classify_difficulty.easy_max_tables" in shown
    assert ",288," in shown  # selected at easy_max_tables 2, medium_max_tables 4
