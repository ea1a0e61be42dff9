"""Tasks as files: a Harbor task scores by its own files, and NeMo Gym has complete lines."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.environments.questions import list_terms, load_questions
from answerkey.environments.tasks import main, make_line, name_task, write_harbor_task
from answerkey.reward import RewardPool
from tests.shared.question_world import COUNT, QuestionWorld, score_fifty

COMPARED = 4  # of the tasks: each starts a process


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
    paths = [str(folder / "answer.sql"), str(folder)]
    subprocess.run([*command, *paths], check=True, cwd=folder, timeout=60)
    return float((folder / "reward.txt").read_text())


def solve(task: Path, app: Path) -> str:
    """The answer that the solution of a task writes, where `app` is the folder of its container."""
    script = (task / "solution/solve.sh").read_text(encoding="utf-8").replace("/app", str(app))
    (task / "solution/solve.sh").write_text(script, encoding="utf-8")
    subprocess.run(["bash", str(task / "solution/solve.sh")], check=True, cwd=app, timeout=60)
    return (app / "answer.sql").read_bytes().decode()


@pytest.mark.slow
def test_replies_have_the_scores_of_the_reward(
    fifty: QuestionWorld, tasks: list[Path], tmp_path: Path
) -> None:
    found = [
        score(task, reply, tmp_path)
        for task, reply in zip(tasks[:COMPARED], fifty.replies, strict=False)
    ]
    assert found == score_fifty(fifty)[:COMPARED]
    assert len(set(found)) == 2
    assert score(tasks[0], solve(tasks[0], tmp_path), tmp_path) == 1.0
    assert score(tasks[0], "", tmp_path) == 0.0


def test_a_task_has_what_harbor_reads(fifty: QuestionWorld, tasks: list[Path]) -> None:
    question = fifty.examples[0].question
    config = tomllib.loads((tasks[0] / "task.toml").read_text(encoding="utf-8"))
    assert config["task"]["name"] == f"answerkey/{question.question_id}"
    assert config["metadata"]["difficulty"] == "easy"
    instruction = (tasks[0] / "instruction.md").read_text(encoding="utf-8")
    assert fifty.examples[0].prompt in instruction
    assert f"`CURRENT_DATE` mean {question.now} (UTC), whatever the clock" in instruction
    container = {path.name for path in (tasks[0] / "environment").iterdir()}
    assert container == {"Dockerfile", "database.sqlite"}


HOSTILE = {
    "end of a heredoc": "SELECT 1 /*\nEND_OF_SQL\ntouch ran\ncat <<'END_OF_SQL'\n*/",
    "quotes": "SELECT 1 /* ' \" ''' \"\"\" \\ */",
    "commands": "SELECT 1 -- $(touch ran) `touch ran`; touch ran && $name ${difficulty}",
    "templates": "SELECT 1 -- {{ name }} {{ prompt }} {% raw %} $$ $name",
    "lines": 'SELECT 1 /* "]\r\n[agent]\r\ntimeout_sec = 9.0\nRUN touch ran */',
    "letters": "SELECT 1 -- 名前 \x7f \U0001f600",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_texts_of_a_corpus_are_never_commands(
    text: str, fifty: QuestionWorld, tmp_path: Path
) -> None:
    hostile = text.replace("/", "|")
    databases, app = tmp_path / "databases", tmp_path / "app"
    app.mkdir()
    target = databases / hostile / f"{hostile}.sqlite"
    target.parent.mkdir(parents=True)
    shutil.copy(fifty.database, target)
    question = fifty.examples[0].question._replace(
        question_id=f"{hostile}_train_000",
        question_text=text,
        database_name=hostile,
        gold_sql=text,
        gold_answer=1,
        prompt=text,
        difficulty=text,
        order_matters=False,
        test_suite=None,
    )
    tasks = [tmp_path / "hostile", tmp_path / "plain"]
    with RewardPool(workers=1, databases=databases, test_suites=databases) as pool:
        write_harbor_task(question, pool, tasks[0])
    with RewardPool(workers=1) as pool:
        plain = fifty.examples[1].question._replace(prompt="Which?")
        write_harbor_task(plain, pool, tasks[1])
    same = ("environment/Dockerfile", "solution/solve.sh", "tests/test.sh", "tests/Dockerfile")
    for name in same:
        assert (tasks[0] / name).read_bytes() == (tasks[1] / name).read_bytes()
    config, plain = (tomllib.loads((task / "task.toml").read_text("utf-8")) for task in tasks)
    assert re.fullmatch("answerkey/[a-zA-Z0-9][a-zA-Z0-9_-]*", config["task"].pop("name"))
    assert config["metadata"].pop("difficulty") == "unknown"
    del plain["task"]["name"], plain["metadata"]["difficulty"]
    assert config == plain
    assert (tasks[0] / "instruction.md").read_bytes().startswith(text.encode())
    assert solve(tasks[0], app).encode() == text.encode()
    assert score(tasks[0], text, app) == 1.0
    assert not list(tmp_path.rglob("ran"))


@given(st.lists(st.text(min_size=1), min_size=2, max_size=2, unique=True))
def test_tasks_of_different_questions_have_different_names(ids: list[str]) -> None:
    names = [name_task(one) for one in ids]
    assert len(set(names)) == 2
    assert all(re.fullmatch("[a-zA-Z0-9][a-zA-Z0-9_-]*", name) for name in names)


@pytest.mark.parametrize("path", ["x/../../data", "harbour/.."])
def test_file_that_leaves_its_folder_is_no_part_of_a_task(
    path: str, fifty: QuestionWorld, tmp_path: Path
) -> None:
    question = fifty.examples[1].question
    question = question._replace(test_suite=[{**question.test_suite[0], "path": path}])
    with RewardPool(workers=1) as pool, pytest.raises(InputError, match="Not a path in"):
        write_harbor_task(question, pool, tmp_path / "task")
    assert not (tmp_path / "task").exists()


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
