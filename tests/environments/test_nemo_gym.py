"""The server for NeMo Gym: played over HTTP as its simple agent does, by lines of ours."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest

from answerkey.environments.questions import load_questions
from answerkey.environments.tasks import make_line
from tests.shared.question_world import LOOKS, QuestionWorld, score_fifty

nemo_gym = pytest.importorskip("nemo_gym", reason="NeMo Gym needs Python 3.12")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies


@pytest.fixture
def lines(fifty: QuestionWorld) -> list[dict[str, Any]]:
    return list(map(make_line, load_questions("data/exports", "train")[0]))


def make_client(**reward: Any) -> Any:
    """What asks the server, in a session of its own."""
    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    from answerkey.environments.nemo_gym import AnswerkeyServer, ServerConfig

    known = {"host": "127.0.0.1", "port": 8080, "entrypoint": "app.py", "name": "answerkey"}
    config = ServerConfig(**known, reward={"workers": 1, **reward})
    server = AnswerkeyServer(config=config, server_client=MagicMock(spec=ServerClient))
    return TestClient(server.setup_webserver())


def make_response(reply: str) -> dict[str, Any]:
    text = {"type": "output_text", "text": reply, "annotations": []}
    message = {"id": "1", "type": "message", "role": "assistant", "status": "completed"}
    return {
        "id": "1",
        "object": "response",
        "created_at": 0.0,
        "model": "scripted",
        "output": [{**message, "content": [text]}],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def test_replies_have_the_scores_of_the_reward(
    fifty: QuestionWorld, lines: list[dict[str, Any]]
) -> None:
    client, rewards = make_client(), []
    for line, reply in zip(lines, fifty.replies, strict=True):
        assert client.post("/seed_session", json=line).status_code == 200
        found = client.post("/verify", json=line | {"response": make_response(reply)})
        assert found.status_code == 200, found.text
        rewards.append(found.json()["reward"])
        assert (found.json()["reason"] is None) == (rewards[-1] == 1.0)
    assert rewards == score_fifty(fifty)


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_the_tool_reads_the_database_of_the_question(
    lines: list[dict[str, Any]], look: str, shown: str
) -> None:
    client = make_client()
    client.post("/seed_session", json=lines[0])
    found = client.post("/run_sql", json={"sql": look})
    assert found.status_code == 200
    assert shown in found.json()
