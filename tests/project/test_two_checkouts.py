"""Two checkouts that share an environment: each runs its own code, in all of its processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.fleet_world import Project
from tests.shared.paths import ROOT

FORMS = {
    "module": ["-m", "stages.compute_gold_answers"],
    "file": ["stages/compute_gold_answers.py"],
}


@pytest.fixture
def other(tmp_path: Path) -> Project:
    """A project in a second checkout, whose stage and whose workers say something else."""
    for name in ("answerkey", "stages"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    script = tmp_path / "stages/compute_gold_answers.py"
    text = script.read_text(encoding="utf-8")
    assert "queries executed" in text
    script.write_text(text.replace("queries executed", "queries answered"), encoding="utf-8")
    with (tmp_path / "answerkey/sqlite/answers.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef shape_answer(rows):\n    return 'elsewhere'\n")
    return Project(tmp_path).add("a", ["SELECT 1"]).add("b", ["SELECT 2", "SELECT 3"])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_stage_and_its_workers_run_the_code_of_their_own_checkout(
    other: Project, form: list[str]
) -> None:
    other.write(workers=2)
    done = subprocess.run(
        [sys.executable, *form],
        cwd=other.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # the checkout that is installed
        capture_output=True,
        text=True,
        check=True,
    )
    assert "3 queries answered: 3 answers" in done.stderr
    answers = [record["gold_answer"] for name in ("a", "b") for record in other.shard(name)]
    assert answers == ["elsewhere"] * 3
