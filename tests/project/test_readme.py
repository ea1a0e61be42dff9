"""The README tells the truth: its numbers are of the last run, its transcripts as printed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from answerkey.records import read_jsonl
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
    rows = {
        level: [cells[split][level]["selected"] for split in ("train", "eval")]
        for level in ("easy", "medium", "hard")
    }
    rows["all"] = [sum(counts) for counts in zip(*rows.values(), strict=True)]
    text = read_page()
    for level, counts in rows.items():
        cells = " | ".join(map(str, (*counts, sum(counts))))
        text = put(text, rf"(?m)^\| {level} \|.*$", f"| {level} | {cells} |")
    loaded, usable, selected = (METRICS[name] for name in ("loaded", "usable", "selected"))
    words = f"Of the sample's {loaded} questions {usable} are usable, and {selected} make up"
    expect_page(PAGE, put(text, re.sub(r"\d+", r"\\d+", words), words))


def test_every_folder_of_the_tree_exists() -> None:
    tree = next(block for block in read_blocks("") if "dvc.lock" in block)
    named = re.findall(r"^([\w./]+/)(?=\s)", tree, re.MULTILINE)
    made = ("data/interim/", "data/questions/", "data/exports/")
    assert len(named) > 5
    for name in named:
        assert name in made or (ROOT / name).is_dir(), name


@pytest.mark.slow
def test_record_and_its_suite_are_those_of_a_run(
    built: Path, expect_page: Callable[[str, str], None]
) -> None:
    text = read_page()
    question_id = json.loads(RECORD.search(text)[0])["question_id"]

    def find(records: Iterable[dict]) -> dict:
        return next(record for record in records if record["question_id"] == question_id)

    questions = json.loads((built / "data/questions/questions_train.json").read_text("utf-8"))
    fields = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in find(questions).items()
    ]
    text = put(text, RECORD, "{" + ",\n ".join(fields) + "}\n")
    suite = find(read_jsonl(built / "data/questions/test_suites.jsonl"))
    shown = json.dumps({name: suite[name] for name in ("question_id", "mutation_score")})
    line = f"`{shown.removesuffix('}')}, ...`"
    expect_page(PAGE, put(text, r'(?m)^`\{"question_id": .*, "mutation_score": .*`$', line))


@pytest.mark.slow
def test_tuning_is_that_of_a_run(built: Path, expect_page: Callable[[str, str], None]) -> None:
    expect_page(PAGE, replay(read_page(), built))
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
