"""The environment for OpenEnv: played over HTTP, and by several clients at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from answerkey.reward import RewardPool, extract_sql
from tests.shared.paths import ROOT
from tests.shared.processes import wait_until
from tests.shared.question_world import CLOCKS, COUNT, QuestionWorld, score_fifty

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
    text = f"Question 0?\nThe current date is {CLOCKS[0]}."
    assert (first["episode_id"], first["text"]) == ("first", text)
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


def test_id_that_two_clients_choose_is_that_of_the_first(
    fifty: QuestionWorld, lines: list[dict[str, Any]], client: Any
) -> None:
    named = {"episode_id": "same"}
    assert client.post("/reset", json=lines[0] | named).status_code == 200
    refused = client.post("/reset", json=lines[1] | named)
    assert refused.status_code == 409
    assert "Episode same is open" in refused.json()["detail"]
    answer = {"sql": fifty.examples[0].question.gold_sql, "is_answer": True}
    end = client.post("/step", json={"action": answer, **named})
    assert end.json()["reward"] == 1.0
    assert client.post("/step", json={"action": answer, **named}).status_code == 409
    assert client.post("/reset", json=lines[1] | named).status_code == 200


def test_clients_that_choose_one_id_at_once_do_not_meet(
    fifty: QuestionWorld, lines: list[dict[str, Any]]
) -> None:
    from fastapi import HTTPException

    from answerkey.environments.openenv import Episodes, Query, TextToSql

    with RewardPool(workers=1) as pool:
        episodes = Episodes()
        first, second = (TextToSql(pool, episodes=episodes) for _ in range(2))
        first.reset(episode_id="same", **lines[0])
        with pytest.raises(HTTPException, match="409"):
            second.reset(episode_id="same", **lines[1])
        with pytest.raises(HTTPException, match="is being played"):
            second.step(Query(sql="SELECT 1"), episode_id="same")
        first.reset(episode_id="same", **lines[2])  # its own it may start again
        first.close()
        second.step(Query(sql="SELECT 1"), episode_id="same")
        assert second.state.step_count == 1


def test_episodes_that_nobody_plays_are_bounded_by_number_and_by_size(
    fifty: QuestionWorld, lines: list[dict[str, Any]]
) -> None:
    from fastapi import HTTPException

    from answerkey.environments.openenv import Episodes, Query, TextToSql

    size = len(json.dumps(lines[0]))
    with RewardPool(workers=1) as pool:
        for limits in ({"most": 3}, {"most_bytes": 3 * size}):
            episodes = Episodes(**limits)
            played = TextToSql(pool, episodes=episodes)
            played.reset(episode_id="played", **lines[0])
            for name in "abcde":
                environment = TextToSql(pool, episodes=episodes)
                environment.reset(episode_id=name, **lines[0])
                environment.close()
            other = TextToSql(pool, episodes=episodes)
            with pytest.raises(HTTPException, match="Episode a is not open: it has ended, or was"):
                other.step(Query(sql="SELECT 1"), episode_id="a")
            other.step(Query(sql="SELECT 1"), episode_id="e")
            assert played.step(Query(sql="SELECT 1")).text == "[[1]]"
            third, fourth = (TextToSql(pool, episodes=episodes) for _ in range(2))
            third.reset(**lines[0])
            with pytest.raises(HTTPException, match="No room: 3 episodes in play"):
                fourth.reset(**lines[0])


@pytest.mark.parametrize("path", ["/reset", "/step"])
def test_body_is_bounded(path: str, client: Any, lines: list[dict[str, Any]]) -> None:
    from answerkey.environments.openenv import MAX_BODY_BYTES

    big = json.dumps(lines[0] | {"other": "x" * MAX_BODY_BYTES}).encode()
    pieces = [big[start : start + 100_000] for start in range(0, len(big), 100_000)]
    for content in (big, iter(pieces)):  # with its length, and without
        assert client.post(path, content=content).status_code == 413


def test_line_of_a_websocket_is_bounded(fifty: QuestionWorld, lines: list[dict[str, Any]]) -> None:
    from fastapi import HTTPException

    from answerkey.environments.openenv import MAX_BODY_BYTES, TextToSql

    with RewardPool(workers=1) as pool, pytest.raises(HTTPException, match="bytes at most"):
        TextToSql(pool).reset(**lines[0] | {"question_text": "x" * MAX_BODY_BYTES})


MALFORMED = (None, 7, -1, True, "", "x", "{", "{}", "7", "[7]", '[{"path": 7}]', [], [7], {}, 1.5)
MALFORMED += ("[" * 5000, "[" * 5000 + "]" * 5000, "\ud800", "\0", "../fleet", "9" * 5000, "NaN")


@pytest.mark.parametrize(
    "name",
    [
        *("question_id", "question_text", "evidence", "database_name", "gold_answer"),
        *("engine", "order_matters", "max_steps", "max_cpu_s", "rule", "accepted_rows"),
        *("other_answers", "test_suite"),
        "database_sha256",
    ],
)
def test_malformed_column_is_refused_at_the_reset_or_harmless(
    name: str, fifty: QuestionWorld, lines: list[dict[str, Any]], client: Any
) -> None:
    answer = {"sql": fifty.examples[1].question.gold_sql, "is_answer": True}
    refused = 0
    for value in MALFORMED:
        line = json.dumps(lines[1] | {name: value})
        reset = client.post("/reset", content=line)
        assert reset.status_code in {200, 422}, (value, reset.text)
        if reset.status_code == 200:
            step = client.post("/step", json={"action": answer})
            assert step.status_code == 200, (value, step.text)
        else:
            refused += 1
            assert reset.json()["detail"]
    assert refused or name == "question_id"
    missing = {column: value for column, value in lines[1].items() if column != name}
    assert client.post("/reset", json=missing).status_code in {200, 422}


@pytest.mark.parametrize("sql", ["\ud800", "", "\0", "SELECT 1" * 100_000, "x" * 1_000_000])
def test_hostile_query_gets_an_answer(sql: str, lines: list[dict[str, Any]], client: Any) -> None:
    client.post("/reset", json=lines[0])
    action = {"action": {"sql": sql, "is_answer": True}}
    step = client.post("/step", content=json.dumps(action))
    assert step.status_code in {200, 422}, step.text


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
