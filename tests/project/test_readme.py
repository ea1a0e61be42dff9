"""The README tells the truth: its numbers are of the last run, its transcripts as printed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.transcripts import replay

PAGE = "README.md"
METRICS = json.loads((ROOT / "metrics/counts.json").read_text(encoding="utf-8"))
RECORD = re.compile(r"(?<=^```json\n)\{.*?\}\n(?=```$)", re.DOTALL | re.MULTILINE)


def read_page() -> str:
    return (ROOT / PAGE).read_text(encoding="utf-8")


def read_blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", read_page(), re.DOTALL | re.MULTILINE)
    blocks = [block for name, block in fences if name == language]
    assert blocks, language
    return blocks


def put(text: str, pattern: str | re.Pattern[str], found: str) -> str:
    """The page with what was found in the one place that a pattern matches."""
    text, count = re.subn(pattern, lambda _: found, text)
    assert count == 1, pattern
    return text


@pytest.fixture(scope="module")
def built(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme") / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    return folder


def test_selection_is_that_of_a_run(expect_page: Callable[[str, str], None]) -> None:
    cells = METRICS["selection"]["cells"]
    train, evaluated = (
        sum(cells[split][level]["selected"] for level in ("easy", "medium", "hard"))
        for split in ("train", "eval")
    )
    loaded, usable, selected = (METRICS[name] for name in ("loaded", "usable", "selected"))
    words = (
        f"Of the sample's {loaded} questions {usable} are usable, and {selected} ({train} to train"
        f" on, {evaluated} to evaluate) make up"
    )
    pattern = re.sub(r"\d+", r"\\d+", re.escape(words).replace("\\ ", " "))
    expect_page(PAGE, put(read_page(), pattern, words))


@pytest.mark.slow
def test_record_is_that_of_a_run(built: Path, expect_page: Callable[[str, str], None]) -> None:
    text = read_page()
    question_id = json.loads(RECORD.search(text)[0])["question_id"]

    questions = json.loads((built / "data/questions/questions_train.json").read_text("utf-8"))
    (record,) = (each for each in questions if each["question_id"] == question_id)
    fields = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in record.items()
    ]
    expect_page(PAGE, put(text, RECORD, "{" + ",\n ".join(fields) + "}\n"))


@pytest.mark.slow
def test_tuning_is_that_of_a_run(built: Path, expect_page: Callable[[str, str], None]) -> None:
    expect_page(PAGE, replay(read_page(), built))
    run(built, "git", "checkout", "-q", ".")
    run(built, "dvc", "checkout")
