"""The world of fifty questions, made once."""

from __future__ import annotations

import pytest

from tests.shared.question_world import QuestionWorld


@pytest.fixture(scope="session")
def question_world(tmp_path_factory: pytest.TempPathFactory) -> QuestionWorld:
    """Fifty questions and replies to them: to read, not to change."""
    return QuestionWorld(tmp_path_factory.mktemp("questions"))


@pytest.fixture
def fifty(question_world: QuestionWorld, monkeypatch: pytest.MonkeyPatch) -> QuestionWorld:
    """The same, in the current folder, where rewards look for databases."""
    for name in ("ANSWERKEY_DATABASES", "ANSWERKEY_TEST_SUITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(question_world.folder)
    return question_world
