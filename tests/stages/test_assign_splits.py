"""assign_splits: one record a question, in its order."""

from __future__ import annotations

import json

import pytest

from answerkey.corpus.splits import assign_splits
from answerkey.errors import InputError
from tests.shared.project_world import World


def test_stage_reads_questions_and_writes_splits(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("select_questions.targets.min_questions", 3)
    pairs = [("a", "train"), ("b", "validation"), ("b", "validation")]
    questions = [{"database_name": name, "spider_split": split} for name, split in pairs]
    path = tmp_path / "data/interim/questions.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(question) + "\n" for question in questions))
    world.run("assign_splits")
    assert world.lines("data/interim/splits.jsonl") == assign_splits(questions)
    assert capsys.readouterr().err == "assign_splits: 3 questions: 1 train, 2 eval\n"
    world.change("select_questions.targets.min_questions", 4)
    with pytest.raises(InputError, match=r"has 3 questions, and .*min_questions asks for 4"):
        world.run("assign_splits")
