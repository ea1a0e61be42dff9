"""The environment for OpenEnv: played over HTTP, and by several clients at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from answerkey.reward import extract_sql
from tests.shared.paths import ROOT
from tests.shared.processes import wait_until
from tests.shared.question_world import COUNT, QuestionWorld, score_fifty

openenv = pytest.importorskip("openenv", reason="OpenEnv has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies


@pytest.fixture
def lines(fifty: QuestionWorld) -> list[dict[str, Any]]:
    path = fifty.folder / "data/exports/openenv/train.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def client(fifty: QuestionWorld) -> Any:
    """What asks the server over HTTP."""
    from fastapi.testclient import TestClient

    from answerkey.environments.openenv import make_app

    return TestClient(make_app(workers=1))


@contextmanager
def serve() -> Iterator[str]:
    """The address of a server that takes WebSockets."""
    import uvicorn

    app = "answerkey.environments.openenv:make_app"  # as docs/environments.md starts it
    server = uvicorn.Server(uvicorn.Config(app, factory=True, port=0, log_level="critical"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive(), seconds=60)
        assert server.started
        (socket,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)


def make_answer(reply: str) -> dict[str, Any]:
    return {"sql": extract_sql(reply) or "", "is_answer": True}


def test_answers_over_http_have_the_scores_of_the_reward(
    fifty: QuestionWorld, lines: list[dict[str, Any]], client: Any
) -> None:
    rewards = []
    for line, reply in zip(lines, fifty.replies, strict=True):
        reset = client.post("/reset", json=line)
        assert reset.status_code == 200, reset.text
        assert set(reset.json()["observation"]) == {"text", "episode_id", "metadata"}
        step = client.post("/step", json={"action": make_answer(reply)})
        assert step.status_code == 200, step.text
        assert step.json()["done"]
        rewards.append(step.json()["reward"])
    assert rewards == score_fifty(fifty)


def test_episodes_over_http_are_told_apart_by_their_names(
    fifty: QuestionWorld, lines: list[dict[str, Any]], client: Any
) -> None:
    first = client.post("/reset", json=lines[0] | {"episode_id": "first"}).json()["observation"]
    second = client.post("/reset", json=lines[1]).json()["observation"]
    gold = [example.question.gold_sql for example in fifty.examples]
    assert (first["episode_id"], first["text"]) == ("first", "Question 0?")
    unnamed = client.post("/step", json={"action": {"sql": gold[0]}})
    assert unnamed.status_code == 409
    assert "2 episodes are open" in unnamed.json()["detail"]
    for episode, sql in ((second, gold[1]), (first, gold[0])):
        name = {"episode_id": episode["episode_id"]}
        look = client.post("/step", json={"action": {"sql": "SELECT wage FROM ship"}, **name})
        assert look.json()["observation"]["text"] == "sql_error: no such column: wage"
        assert not look.json()["done"]
        end = client.post("/step", json={"action": {"sql": sql, "is_answer": True}, **name})
        assert (end.json()["done"], end.json()["reward"]) == (True, 1.0)
        again = client.post("/step", json={"action": {"sql": sql}, **name})
        assert again.status_code == 409


def test_several_clients_play_at_once(fifty: QuestionWorld, lines: list[dict[str, Any]]) -> None:
    from openenv import GenericEnvClient

    with serve() as url, ExitStack() as stack:
        clients = [
            stack.enter_context(GenericEnvClient(base_url=url).sync()) for _ in range(COUNT // 5)
        ]
        rewards = [0.0] * COUNT
        for start in range(0, COUNT, len(clients)):
            turn = [*enumerate(clients, start)]
            for index, played in turn:
                played.reset(**lines[index])
            for _, played in turn:
                look = played.step({"sql": "SELECT name FROM ship ORDER BY name LIMIT 1"})
                assert look.observation["text"] == '[["Alda"]]'
            for index, played in turn:
                rewards[index] = played.step(make_answer(fifty.replies[index])).reward
    assert rewards == score_fifty(fifty)


def test_a_server_with_questions_of_its_own_plays_by_seed_or_by_name(
    fifty: QuestionWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastapi.testclient import TestClient

    from answerkey.environments.openenv import make_app

    monkeypatch.setenv("ANSWERKEY_SOURCE", "data/exports")  # as the container is told
    client, rewards = TestClient(make_app(workers=1)), []
    for seed, (example, reply) in enumerate(zip(fifty.examples, fifty.replies, strict=True)):
        chosen = {"seed": seed} if seed % 2 else {"question_id": example.question.question_id}
        asked = client.post("/reset", json=chosen)
        assert asked.json()["observation"]["text"] == example.prompt
        assert "gold_answer" not in asked.text
        rewards.append(client.post("/step", json={"action": make_answer(reply)}).json()["reward"])
    assert rewards == score_fifty(fifty)
    assert client.post("/reset", json={"question_id": "other"}).status_code == 422


def test_openenv_takes_the_folder_and_the_server(fifty: QuestionWorld) -> None:
    from openenv.cli._cli_utils import validate_env_structure
    from openenv.cli._validation import validate_running_environment
    from openenv.validation import Level, Verdict, run_validation

    folder = ROOT / "environments/openenv"
    validate_env_structure(folder)
    report = run_validation(folder, max_level=Level.STATIC, skip_build=True)
    assert report.verdict is not Verdict.FAIL, report
    with serve() as url:
        found = validate_running_environment(url)
    assert found["passed"], found
