"""The examples do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared.export_world import ExportWorld
from tests.shared.paths import ROOT


def score_predictions(world: ExportWorld, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "examples/score_predictions.py"), *arguments],
        cwd=world.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_thousand_predictions_are_scored_both_ways_and_measured(exported):
    done = score_predictions(exported)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    found = re.fullmatch(r"1000 predictions scored, (\d+) of them right", lines[0])
    assert 500 <= int(found[1]) < 1000
    stored, executed = (
        re.fullmatch(rf"gold answers {way}: ([\d.]+) s, ([\d.]+) s of it for gold", line)
        for way, line in zip(("stored", "executed"), lines[1:3], strict=True)
    )
    assert float(stored[2]) < float(executed[2])
    assert re.fullmatch(r"speed-up: \d+\.\d", lines[3])


def test_predictions_are_read_from_a_file(exported, tmp_path):
    question = exported.questions("train")[0]
    queries = [
        question["gold_sql"],
        "SELECT 1",
        "SELECT wage -- \u2028\nFROM ship",
        "DROP TABLE ship",
    ]
    path = tmp_path / "predictions.jsonl"
    records = [{"question_id": question["question_id"], "sql": sql} for sql in queries]
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text("\n".join(lines), encoding="utf-8")
    done = score_predictions(exported, "--predictions", str(path))
    assert done.stdout.startswith("4 predictions scored, 1 of them right\n"), done.stderr


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)
