"""The examples do what they say, and the environments are played through their own libraries."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.shared.export_world import SPLITS, ExportWorld
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
    queries = [question["gold_sql"], "SELECT 1", "SELECT wage FROM ship", "DROP TABLE ship"]
    path = tmp_path / "predictions.jsonl"
    lines = [json.dumps({"question_id": question["question_id"], "sql": sql}) for sql in queries]
    path.write_text("\n".join(lines))
    done = score_predictions(exported, "--predictions", str(path))
    assert done.stdout.startswith("4 predictions scored, 1 of them right\n"), done.stderr


@pytest.mark.filterwarnings("ignore")  # of its dependencies
@pytest.mark.parametrize("split", SPLITS)
def test_skyrl_plays_every_row(inside, tmp_path, split):
    skyrl_gym = pytest.importorskip("skyrl_gym", reason="needs the extra `trainers`")
    import_module("examples.skyrl_environment")
    rows = inside.load(f"skyrl/{split}.parquet", cache=tmp_path)
    assert rows
    for row in rows:
        prompt = row.pop("prompt")
        for sql, reward in ((row["extra_info"]["gold_sql"], 1.0), ("SELECT 'no'", 0.0)):
            environment = skyrl_gym.make(row["env_class"], extras=row)
            assert environment.init(prompt)[0] == prompt
            step = environment.step(f"```sql\n{sql}\n```")
            assert (step["reward"], step["done"]) == (reward, True)


def read_lines(world: ExportWorld, split: str) -> list[dict[str, Any]]:
    path = world.exports / f"openenv/{split}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def openenv() -> Any:
    """The example, where OpenEnv is installed."""
    pytest.importorskip("openenv", reason="OpenEnv has an environment of its own")
    return import_module("examples.openenv_environment")


@pytest.mark.filterwarnings("ignore")  # of its dependencies
def test_openenv_server_resets_by_every_line(inside, openenv):
    client = pytest.importorskip("fastapi.testclient").TestClient(openenv.app)
    for split in SPLITS:
        lines = read_lines(inside, split)
        assert lines
        for line in lines:
            answer = client.post("/reset", json=line)
            assert answer.status_code == 200, answer.text
            assert answer.json()["observation"]["text"] == line["question_text"]
            assert line["gold_answer"] not in json.dumps(answer.json()["observation"])


@pytest.mark.filterwarnings("ignore")  # of its dependencies
def test_openenv_episode_ends_with_a_reward(inside, openenv):
    questions = {question["question_id"]: question for question in inside.questions("train")}
    line = read_lines(inside, "train")[0]
    gold_sql = questions[line["question_id"]]["gold_sql"]
    environment = openenv.TextToSql()
    environment.reset(seed=1, episode_id="first", **line)
    look = environment.step(openenv.Query(sql="SELECT count(*) FROM ship"))
    assert (look.text, look.done, look.reward) == ("[[6]]", False, None)
    failed = environment.step(openenv.Query(sql="SELECT wage FROM ship"))
    assert "the query fails" in failed.text
    end = environment.step(openenv.Query(sql=gold_sql, is_answer=True))
    assert (end.done, end.reward) == (True, 1.0)
    assert (environment.state.episode_id, environment.state.step_count) == ("first", 3)
    environment.reset(**line)
    end = environment.step(openenv.Query(sql="DELETE FROM ship", is_answer=True))
    assert (end.done, end.reward) == (True, 0.0)


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_stand_in_the_docs(path: Path):
    docs = [page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")]
    assert any(f"examples/{path.name}" in text for text in docs)
