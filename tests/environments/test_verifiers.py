"""The environment for verifiers: played by its own chat program, with and without the tool."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.shared.paths import ROOT
from tests.shared.question_world import COUNT, LOOKS, QuestionWorld, score_fifty

vf = pytest.importorskip("verifiers.v1", reason="verifiers has an environment of its own")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of its dependencies

# verifiers makes an environment for its chat program by uv, which asks an index. This one has all
# that the program needs.
PACKAGE = ROOT / "environments/answerkey_text_to_sql"
UV = f"""#!/bin/sh
case "$*" in *--help*) echo --script;; "python find"*) echo {sys.executable};; esac
"""


@pytest.fixture(autouse=True)
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat program runs in this environment, out of a cache of its own."""
    uv = tmp_path / ".local/bin/uv"
    uv.parent.mkdir(parents=True)
    uv.write_text(UV)
    uv.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{PACKAGE}")  # for the server of the tool
    monkeypatch.syspath_prepend(PACKAGE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{uv.parent}:{os.environ['PATH']}")
    runtime = pytest.importorskip("verifiers.v1.runtimes.subprocess").SubprocessRuntime
    monkeypatch.setattr(runtime, "scripts_dir", str(tmp_path / "scripts"))


Policy = Callable[[str], str]


def make_message(messages: list[dict[str, Any]], look: str | None, reply: Policy) -> dict[str, Any]:
    """The next message: the query `look` by the tool, where it was not asked yet; else the reply
    to the first prompt."""
    if look is not None and messages[-1]["role"] != "tool":
        function = {"name": "run_sql", "arguments": json.dumps({"sql": look})}
        call = {"id": "call_1", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    prompt = next(message for message in messages if message["role"] == "user")["content"]
    text = prompt if isinstance(prompt, str) else prompt[0]["text"]
    return {"role": "assistant", "content": reply(text)}


@contextmanager
def serve_model(reply: Policy, *, look: str | None = None) -> Iterator[tuple[str, list[Any]]]:
    """The address of a server of chat completions, and the messages that it was sent.

    look: a query that the policy sends to the tool first, where it is offered any.
    """
    seen: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body["messages"])
            message = make_message(body["messages"], look if body.get("tools") else None, reply)
            reason = "tool_calls" if "tool_calls" in message else "stop"
            answer = {
                "id": "answer",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            self._send(body, answer)

        def _send(self, body: dict[str, Any], answer: dict[str, Any]) -> None:
            kind, text = "application/json", json.dumps(answer)
            if body.get("stream"):
                choice = answer["choices"][0]
                for number, call in enumerate(choice["message"].get("tool_calls", [])):
                    call["index"] = number
                choice["delta"] = choice.pop("message")
                answer["object"] = "chat.completion.chunk"
                kind, text = "text/event-stream", f"data: {json.dumps(answer)}\n\ndata: [DONE]\n\n"
            data = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join(60)
        server.server_close()


async def play(environment: Any, url: str, *, count: int) -> list[Any]:
    """The traces of the first questions."""
    client = vf.EvalClientConfig(base_url=url)
    context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())
    at_once = asyncio.Semaphore(2)
    async with environment.serving():
        slots = [
            slot for task in environment.taskset.take(count) for slot in environment.slots(task)
        ]
        episodes = await asyncio.gather(*(environment.run_slot(s, context, at_once) for s in slots))
    for episode in episodes:
        assert episode.ok, [*episode.errors, *(trace.errors for trace in episode.traces)]
    return [trace for episode in episodes for trace in episode.traces]


def load(**options: Any) -> Any:
    from answerkey_text_to_sql import load_environment

    return load_environment(workers=1, **options)


def test_single_turns_have_the_scores_of_the_reward(fifty: QuestionWorld) -> None:
    with serve_model(fifty.find_reply) as (url, _):
        traces = asyncio.run(play(load(), url, count=COUNT))
    assert [trace.reward for trace in traces] == score_fifty(fifty)
    assert "sql_error" in {trace.info["reason"] for trace in traces}


@pytest.mark.parametrize(("look", "shown"), LOOKS)
def test_the_tool_reads_the_database_of_the_question(
    fifty: QuestionWorld, look: str, shown: str
) -> None:
    with serve_model(fifty.find_reply, look=look) as (url, seen):
        traces = asyncio.run(play(load(tools=True, max_turns=4), url, count=3))
    assert [trace.reward for trace in traces] == score_fifty(fifty)[:3]
    answers = [messages[-1] for messages in seen if messages[-1]["role"] == "tool"]
    assert len(answers) == 3
    assert all(shown in str(answer["content"]) for answer in answers), answers
