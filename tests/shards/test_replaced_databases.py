"""A database that was replaced after it was fetched ends every stage that would open it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from answerkey.core.errors import InputError
from tests.shared.fleet_world import make_fleet
from tests.shared.paths import ROOT
from tests.shared.project_world import World

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")

STAGES = [  # each with the one before it
    ("assign_splits", "compute_gold_answers"),
    ("parse_gold_sql", "audit_gold_answers"),
    ("export_dataset", "export_trainers"),
]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("before", "stage"), STAGES)
def test_replaced_database_is_named_with_both_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, stage: str, workers: int
) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("execution.workers", workers)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    world.run_to(before)
    databases = Path("data/databases")
    expected = world.json("data/databases/manifest.json")["databases"]["library"]["sha256"]
    make_fleet(databases / "library/library.sqlite", "CREATE TABLE book (id INTEGER)")
    with pytest.raises(InputError) as caught:
        world.run(stage)
    assert f"Database library is not the one of the manifest: expected sha256 {expected}" in str(
        caught.value
    )
    shutil.rmtree(databases)
    world.run("download_databases")
    world.run(stage)
