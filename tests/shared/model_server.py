"""A model on 127.0.0.1 that says what a test tells it to, in the chat completions of OpenAI."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """A response as it is: so many times these bytes (0: for ever), with a pause after each time.
    length: what it says of its length, if it says something else."""

    body: bytes = b""
    status: int = 200
    retry_after: str = ""
    times: int = 1
    pause_s: float = 0.0
    length: int | None = None


def say(
    content: Any, *, tokens: Any = 100, calls: Any = None, finish: str = "stop", **others: Any
) -> Raw:
    """A chat completion. tokens: None: it does not say what it took. others: of the message."""
    message = {"role": "assistant", "content": content, **others}
    if calls is not None:
        message["tool_calls"] = calls
    response: dict[str, Any] = {"choices": [{"message": message, "finish_reason": finish}]}
    if tokens is not None:
        response["usage"] = {"total_tokens": tokens}
    return Raw(json.dumps(response).encode())


def judge(verdict: str, sql: str | None = None, *, tokens: Any = 100, **others: Any) -> Raw:
    """A talkative model's verdict."""
    line = {"verdict": verdict, "sql": sql, "reason": "So.", "kind": "column"} | others
    return say(f'<think>{{"verdict": ?}}</think>\n```json\n{json.dumps(line)}\n```', tokens=tokens)


def call(*arguments: Any, name: str = "run_sql", **others: Any) -> Raw:
    """Calls of a tool; arguments are texts, or what becomes JSON."""
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {
                "name": name,
                "arguments": each if isinstance(each, str) else json.dumps(each),
            },
        }
        for number, each in enumerate(arguments)
    ]
    return say(None, calls=calls, finish="tool_calls", **others)


def query(*sql: str, tokens: Any = 100) -> Raw:
    return call(*({"sql": each} for each in sql), tokens=tokens)


Script = Callable[[Request], Raw]


class ModelServer(ThreadingHTTPServer):
    """script: what it responds to a request. asked: the requests, in their order."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.asked: list[Request] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients leave: that is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append({"path": self.path, **body})
            self.server.keys.append(self.headers["Authorization"])
            raw = self.server.script(body)
        self.send_response(raw.status)
        if raw.times:
            length = len(raw.body) * raw.times if raw.length is None else raw.length
            self.send_header("Content-Length", str(length))
        if raw.retry_after:
            self.send_header("Retry-After", raw.retry_after)
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # until nobody reads
            sent = 0
            while not raw.times or sent < raw.times:
                self.wfile.write(raw.body)
                sent += 1
                time.sleep(raw.pause_s)

    def log_message(self, *_: Any) -> None:
        """Tests say nothing on stderr."""


def in_turn(*answers: Raw) -> Script:
    """These, one after another, the last one for ever."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


@contextlib.contextmanager
def serve(script: Script) -> Iterator[ModelServer]:
    with ModelServer(script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(60)
