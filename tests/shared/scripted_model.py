"""A server that speaks chat completions: a policy that looks around by a tool, then replies."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

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
    """The address of a server, and the messages of each request that it was sent.

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
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
