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


def test_revision_that_is_no_commit_is_warned_about_before_anything_is_fetched(
    world, capsys, monkeypatch
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(world.folder / "hf"))
    world.change("corpora.spider.db_list", ["farm"])
    world.change("corpora.spider.databases.archive.revision", "main")
    world.change("corpus", "spider")
    with pytest.raises(FileNotFoundError, match=r"^Failed to download database: farm: "):
        world.run("download_databases")
    warning = capsys.readouterr().err
    assert warning.startswith("download_databases: warning: corpus spider reads ")
    assert warning.endswith("`python -m answerkey.corpus.pin_revisions spider`\n")
