"""The agents for Agent Lightning: its gateway and its controller run, and the rollout manager of
its trainer asks them for rollouts. The model is a scripted server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.shared.processes import wait_until
from tests.shared.question_world import LOOKS, QuestionWorld, score_fifty

pytest.importorskip("agentlightning", reason="Agent Lightning has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

AGENTS = "answerkey.environments.agent_lightning"
MODEL = "scripted"
NUMBERS = [0, 1, 2, 3, 37]
REASONS = [None, "wrong_rows", "not_a_select", "no_query", "too_few_rows"]


@contextmanager
def serve_model(world: QuestionWorld) -> Iterator[tuple[str, list[Any]]]:
    """The address of a model that looks around where it may, and then replies as scripted; and what
    it was asked."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            prompt, *shown = body["messages"]
            replies = sum(message["role"] == "assistant" for message in shown)
            if "tools" in body and replies < len(LOOKS):
                function = {"name": "run_sql", "arguments": json.dumps({"sql": LOOKS[replies][0]})}
                call = {"id": f"call-{replies}", "type": "function", "function": function}
                message = {"role": "assistant", "content": None, "tool_calls": [call]}
            else:
                message = {"role": "assistant", "content": world.find_reply(prompt["content"])}
            choice = {"index": 0, "message": message, "token_ids": [1, 2], "finish_reason": "stop"}
            reply = {"prompt_token_ids": [len(asked)], "choices": [choice]}
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", asked
        finally:
            server.shutdown()
            thread.join(60)


@contextmanager
def start(module: str, log: Path, *settings: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as file:
        command = [sys.executable, "-m", module, *settings, f"hydra.run.dir={log.parent}"]
        process = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def start_manager(world: QuestionWorld, folder: Path, agent: str, key: str) -> Iterator[Any]:
    """The rollout manager of a trainer, beside the gateway and the controller, and what the model
    was asked."""
    import httpx
    from agentlightning.verl.agl_rollout_manager import AglRolloutManager

    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as free:
        port = free.server_port
    url = f"http://127.0.0.1:{port}"

    def is_up() -> bool:
        try:
            return httpx.get(f"{url}/healthz").is_success
        except httpx.TransportError:
            return False

    server = ("agentlightning.server", folder / "server.log", "host=127.0.0.1", f"port={port}")
    controller = ("agentlightning.controller", folder / "controller.log", "runner_type=local")
    limits = ("local_runner.maximum_size=2", "local_runner.poll_interval=0.2")
    with (
        serve_model(world) as (endpoint, asked),
        start(*server, f"key={key}", f"default_proxy.model_name={MODEL}"),
    ):
        wait_until(is_up, seconds=120)
        at = (f"agl_server.url={url}", f"agl_server.key={key}")
        with start(*controller, *at, *limits):
            manager = AglRolloutManager(
                agl_base_url=url,
                agl_key=key,
                model=MODEL,
                step=0,
                poll_interval_seconds=0.2,
                rollout_timeout_seconds=120,
                local_agent_class=f"{AGENTS}.{agent}",
                local_env_map={"ANSWERKEY_QUESTION": "input"},
            )
            manager.register_model([endpoint])
            yield manager, asked


@pytest.mark.parametrize(("agent", "key"), [("ReplyAgent", ""), ("ToolAgent", "key-of-the-test")])
def test_rollouts_have_the_scores_of_the_reward(
    fifty: QuestionWorld, tmp_path: Path, agent: str, key: str
) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table("data/exports/trl/prompt_completion/train.parquet").take(NUMBERS)
    rows = {name: table[name].to_pylist() for name in table.column_names}
    with start_manager(fifty, tmp_path, agent, key) as (manager, asked):
        rollouts = manager.enqueue_and_wait_until_completed(rows, is_train=True)
    rollouts = sorted(rollouts, key=lambda rollout: rollout.sample_idx_in_step)
    failures = [rollout.error_message for rollout in rollouts if rollout.error_message]
    assert not failures, (tmp_path / "controller.log").read_text(encoding="utf-8")
    scores = score_fifty(fifty)
    assert [rollout.final_reward for rollout in rollouts] == [scores[n] for n in NUMBERS]
    assert [rollout.triplets[-1].reward for rollout in rollouts] == [scores[n] for n in NUMBERS]
    events = [rollout.events[-1]["data"] for rollout in rollouts]
    assert [event["reason"] for event in events] == REASONS
    shown = [message["content"] for message in asked[-1]["messages"] if message["role"] == "tool"]
    if agent == "ReplyAgent":
        assert len(asked) == len(NUMBERS)
        assert not shown
    else:
        assert len(asked) == len(NUMBERS) * (1 + len(LOOKS))
        assert [expected in text for (_, expected), text in zip(LOOKS, shown, strict=True)] == [
            True
        ] * len(LOOKS)
