"""download_databases: the databases, their manifest and their schemas, and one line of log."""

from __future__ import annotations

import pytest

from tests.shared.project_world import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def test_stage_makes_what_is_missing_and_writes_the_schemas_of_all(world, capsys):
    world.run("download_databases")
    assert " 2 databases (2 made, 0 kept, 0 removed), " in capsys.readouterr().err
    (world.folder / "data/databases/library/library.sqlite").unlink()
    world.run("download_databases")
    assert " 2 databases (1 made, 1 kept, 0 removed), " in capsys.readouterr().err
    schemas = world.lines("data/interim/schemas.jsonl")
    assert [schema["database_name"] for schema in schemas] == ["harbour", "library"]
    names = [table["name"] for table in schemas[1]["tables"]]
    assert names == ["author", "shelf", "book", "loan"]
