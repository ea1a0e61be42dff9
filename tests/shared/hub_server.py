"""A Hugging Face hub on 127.0.0.1: dataset repositories from a dict, and ways to go wrong.

    with HubServer({"org/corpus": {COMMIT: {"a.txt": b"text"}}}, {"org/corpus": {"main": COMMIT}}):

It speaks the part of the protocol that fetching a file needs: HEAD and GET of
/datasets/ID/resolve/REVISION/PATH, and /api/datasets/ID[/revision/REVISION | /tree/REVISION].
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

RESOLVE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
API = re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+))?/?")

Files = dict[str, bytes]


class HubServer:
    """A running hub; `endpoint` is its address, `requests` lists what it was asked of repositories,
    and `times` when.

    Faults: the first `failing` requests (-1: all) end in HTTP 500; requests by `silent_methods` are
    accepted and never answered; `is_stalling` stops half-way in the body of every file, and
    `is_cutting` ends the connection there;
    `is_lying` sends other bytes of the same length; `token`: what a client must show.
    """

    def __init__(
        self,
        repositories: dict[str, dict[str, Files]],
        branches: dict[str, dict[str, str]] | None = None,
        *,
        failing: int = 0,
        silent_methods: tuple[str, ...] = (),
        is_stalling: bool = False,
        is_cutting: bool = False,
        is_lying: bool = False,
        token: str | None = None,
    ) -> None:
        self.repositories = repositories
        self.branches = branches or {}
        self.failing = failing
        self.silent_methods = silent_methods
        self.is_stalling = is_stalling
        self.is_cutting = is_cutting
        self.is_lying = is_lying
        self.token = token
        self.requests: list[str] = []
        self.times: list[float] = []
        self.closing = threading.Event()
        self.lock = threading.Lock()

    def __enter__(self) -> HubServer:
        handler = type("Handler", (HubHandler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=5)

    def count_fetched(self, path: str) -> int:
        """How often the content of a file was asked for."""
        return sum(line.startswith("GET /datasets/") and path in line for line in self.requests)

    def find_commit(self, repo_id: str, revision: str) -> str | None:
        commit = self.branches.get(repo_id, {}).get(revision, revision)
        return commit if commit in self.repositories.get(repo_id, {}) else None


@contextlib.contextmanager
def run_hubs(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[Callable[..., HubServer]]:
    """A function that starts a hub and points the library's environment at it, and at an empty
    cache in `home`; nothing waits before it asks again; all hubs stop when the block ends."""
    monkeypatch.setattr("answerkey.corpus.hub._BACKOFF_S", 0.0)
    for name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with contextlib.ExitStack() as stack:

        def start(*world: Any, **faults: Any) -> HubServer:
            server = stack.enter_context(HubServer(*world, **faults))
            monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
            return server

        yield start


def pack_parquet(
    rows: list[dict[str, Any]],
    columns: tuple[str, ...] = ("db_id", "query", "question", "question_toks"),
) -> bytes:
    """The bytes of a parquet file."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table({column: [row.get(column) for row in rows] for column in columns})
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="none")
    return sink.getvalue().to_pybytes()


class HubHandler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def respond(self) -> None:
        """Note the request, then answer it or fail in the way of this hub."""
        path = urllib.parse.urlsplit(self.path).path
        if not (RESOLVE.fullmatch(path) or API.fullmatch(path)):
            return self.send(404, b"")  # what the library asks of its own accord: no part of a test
        with self.hub.lock:
            self.hub.requests.append(f"{self.command} {self.path}")
            self.hub.times.append(time.monotonic())
            is_failing = self.hub.failing != 0
            self.hub.failing -= self.hub.failing > 0
        if self.command in self.hub.silent_methods:
            self.hub.closing.wait(60)
            self.close_connection = True
        elif is_failing:
            self.send(500, b"the server failed")
        else:
            self.answer(path)

    do_GET = do_HEAD = respond

    def answer(self, path: str) -> None:
        resolve, api = RESOLVE.fullmatch(path), API.fullmatch(path)
        found = resolve or api
        repo_id = found[1]
        revision = urllib.parse.unquote((resolve[2] if resolve else api[3]) or "main")
        if repo_id not in self.hub.repositories:
            return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
        if self.hub.token and self.headers["Authorization"] != f"Bearer {self.hub.token}":
            return self.send(401, b"", {"X-Error-Code": "GatedRepo"})
        commit = self.hub.find_commit(repo_id, revision)
        if commit is None:
            return self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
        files = self.hub.repositories[repo_id][commit]
        if api:
            described = json.dumps(self.describe(api[2], repo_id, commit, files)).encode()
            return self.send(200, described, {"Content-Type": "application/json"})
        name = urllib.parse.unquote(resolve[3])
        if name not in files:
            return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
        etag = f'"{hashlib.sha256(files[name]).hexdigest()}"'
        self.send(200, files[name], {"X-Repo-Commit": commit, "ETag": etag}, is_file=True)

    def describe(self, kind: str | None, repo_id: str, commit: str, files: Files) -> Any:
        if kind == "tree":
            return [
                {"type": "file", "path": name, "size": len(content), "oid": "0" * 40}
                for name, content in files.items()
            ]
        siblings = [{"rfilename": name} for name in files]
        return {"id": repo_id, "sha": commit, "private": False, "siblings": siblings}

    def send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, is_file: bool = False
    ) -> None:
        if is_file and self.hub.is_lying:
            body = bytes(byte ^ 1 for byte in body)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        extra = dict(headers or {})
        if is_file and asked and int(asked[1]) < len(body):
            start = int(asked[1])
            extra["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            status, body = 206, body[start:]
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | extra).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if is_file and (self.hub.is_stalling or self.hub.is_cutting):
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            if self.hub.is_stalling:
                self.hub.closing.wait(60)
            self.close_connection = True
        else:
            self.wfile.write(body)
