"""A stage that fails or is killed takes nothing away: what a run has made stays until its successor
is there."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import Any

import pytest
import yaml

from tests.shared.paths import ROOT
from tests.shared.project_world import HARBOUR, LIBRARY, World

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
ENTRIES = {name: [*stage["outs"], *stage.get("metrics", [])] for name, stage in PIPELINE.items()}
OUTS = {name: [next(iter(entry)) for entry in entries] for name, entries in ENTRIES.items()}
# Folders that are brought up to date one database after another. Any other changes as a whole.
BY_DATABASE = {"data/test_suites"} | {
    f"data/interim/{name}" for name in ("gold_answers", "parsed", "audit", "test_suites")
}


@pytest.mark.parametrize("stage", PIPELINE)
def test_dvc_deletes_no_out_before_its_stage_runs(stage: str) -> None:
    for entry in ENTRIES[stage]:
        assert [options["persist"] for options in entry.values()] == [True]


@pytest.fixture(scope="module")
def fates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of the outs of each stage, when it failed after a change of the corpus."""
    folder = tmp_path_factory.mktemp("failing")
    world = World(folder)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    with contextlib.chdir(folder):
        world.run(*PIPELINE)
    world.write_database("harbour", HARBOUR.replace("'Sun', 55", "'Sun', 56"))
    world.write_database("library", LIBRARY.replace("'Ice', 96", "'Ice', 97"))
    for name, db_id, table in (
        ("train_spider", "harbour", "captain"),
        ("dev", "library", "author"),
    ):
        questions = world.json(f"corpus/{name}.json")
        query = f"SELECT name FROM {table} WHERE id > 1"
        questions.append({"db_id": db_id, "question": f"Which {table}s?", "query": query})
        (folder / f"corpus/{name}.json").write_text(json.dumps(questions), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tests.shared.failing_stages", json.dumps(OUTS)],
        cwd=folder,
        # Python's own files of bytecode would be cut off, and taken as whole by the next import.
        env={"PYTHONPATH": str(ROOT), "PATH": "", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("stage", PIPELINE)
def test_what_a_stage_has_made_stays_until_its_successor_is_there(
    fates: dict[str, Any], stage: str
) -> None:
    *failed, last = fates[stage]["statuses"]
    assert 0 not in failed
    assert last == 0
    before, failed, after = (fates[stage][when] for when in ("before", "failed", "after"))
    assert before.keys() <= failed.keys()
    for out in OUTS[stage]:
        files = [path for path in failed if path == out or path.startswith(f"{out}/")]
        for group in [[path] for path in files] if out in BY_DATABASE else [files]:
            states = [[state.get(path) for path in group] for state in (before, failed, after)]
            assert states[1] in (states[0], states[2])
