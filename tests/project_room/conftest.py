"""A project with a corpus of its own, which init has made."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest

from answerkey.project.init import init_project
from tests.shared.shop_world import write_shop


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of a shop's database and questions: to copy, not to change."""
    folder = tmp_path_factory.mktemp("made")
    database, questions = write_shop(folder / "theirs")
    with contextlib.chdir(folder):
        init_project(folder / "project", databases=[str(database)], questions=questions)
    return folder / "project"


@pytest.fixture
def project(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the current folder."""
    folder = tmp_path / "project"
    shutil.copytree(made, folder, symlinks=True)
    monkeypatch.chdir(folder)
    return folder
