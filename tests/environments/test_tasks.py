"""Tasks as files: a Harbor task scores by its own files, and NeMo Gym has complete lines."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from answerkey.environments.questions import list_terms, load_questions
from answerkey.environments.tasks import main, make_line
from tests.shared.question_world import COUNT, QuestionWorld, score_fifty


@pytest.fixture
def tasks(fifty: QuestionWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of the first ten questions."""
    out = tmp_path / "tasks"
    arguments = ["tasks", "harbor", "--split", "train", "--count", "10", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", arguments)
    main()
    return sorted(out.iterdir())


def score(task: Path, answer: str, folder: Path) -> float:
    """The reward that the files of a task give, with the standard library and nothing else."""
    (folder / "answer.sql").write_text(answer, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(task / "tests/score.py")]
    subprocess.run([*command, str(folder / "answer.sql"), str(folder)], check=True, cwd=folder)
    return float((folder / "reward.txt").read_text())


def test_replies_have_the_scores_of_the_reward(
    fifty: QuestionWorld, tasks: list[Path], tmp_path: Path
) -> None:
    found = [
        score(task, reply, tmp_path) for task, reply in zip(tasks, fifty.replies, strict=False)
    ]
    assert found == score_fifty(fifty)[:10]
    lines = (tasks[0] / "solution/solve.sh").read_text(encoding="utf-8").splitlines()
    assert score(tasks[0], "\n".join(lines[2:-1]), tmp_path) == 1.0
    assert score(tasks[0], "", tmp_path) == 0.0


def test_a_task_has_what_harbor_reads(fifty: QuestionWorld, tasks: list[Path]) -> None:
    question = fifty.examples[0].question
    config = tomllib.loads((tasks[0] / "task.toml").read_text(encoding="utf-8"))
    assert config["task"]["name"] == f"answerkey/{question.question_id}"
    assert config["metadata"]["difficulty"] == "easy"
    assert fifty.examples[0].prompt in (tasks[0] / "instruction.md").read_text(encoding="utf-8")
    container = {path.name for path in (tasks[0] / "environment").iterdir()}
    assert container == {"Dockerfile", "harbour.sqlite"}
    told = (tasks[0] / "environment/Dockerfile").read_text() + str(config)
    assert "{{" not in told
    assert "COPY harbour.sqlite" in told


def test_harbor_takes_the_tasks(tasks: list[Path]) -> None:
    models = pytest.importorskip("harbor.models.task.task", reason="Harbor has an environment")
    for folder in tasks:
        assert models.Task.is_valid_dir(folder)
        assert models.Task(folder).instruction


def test_lines_for_nemo_gym_have_the_prompt_the_tool_and_the_answer(
    fifty: QuestionWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "lines/train.jsonl"
    monkeypatch.setattr(sys, "argv", ["tasks", "nemo_gym", "--split", "train", "--out", str(out)])
    main()
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    questions, _ = load_questions("data/exports", "train")
    assert lines == [json.loads(json.dumps(make_line(question))) for question in questions]
    assert len(lines) == COUNT
    assert lines[0].items() >= list_terms(questions[0]).items()
    assert lines[0]["responses_create_params"]["tools"][0]["name"] == "run_sql"
