"""The processes that a test has started, those that they have, and a Ray cluster of them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.shared.paths import ROOT

MARK = "ANSWERKEY_TEST"  # the variable by which a test knows its processes, and theirs


def find_processes(mark: str, *, name: str = "") -> list[int]:
    """The processes that have the mark, and whose command line begins so."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            is_marked = f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0")
            if is_marked and (entry / "cmdline").read_bytes().startswith(name.encode()):
                found.append(int(entry.name))
    return found


@contextlib.contextmanager
def heed_interrupts() -> Iterator[None]:
    """Let this process and those that it starts be interrupted, as from a terminal: what a shell
    starts in the background ignores that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def wait_until(is_done: Callable[[], object], *, seconds: float) -> None:
    """Look again and again.

    Raises:
        TimeoutError: where it is not done in time.
    """
    until = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > until:
            raise TimeoutError(f"not done within {seconds} s")
        time.sleep(0.05)


def kill(processes: list[int]) -> None:
    """SIGKILL, also where one of them is gone already."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def start_cluster(*, cpus: int, mark: str) -> Iterator[dict[str, str]]:
    """The variables with which a process joins a new cluster; it ends with the block."""
    variables = {"RAY_USAGE_STATS_ENABLED": "0"}
    options = ["--head", "--block", "--port=0", "--include-dashboard=false", f"--num-cpus={cpus}"]
    # Paths of sockets have to be short.
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        start = (sys.executable, "-m", "ray.scripts.scripts", "start")
        head = subprocess.Popen(
            [*start, *options, f"--temp-dir={folder}"],
            env={**os.environ, **variables, MARK: mark, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            address = Path(folder, "ray_current_cluster")
            wait_until(lambda: address.is_file() and address.read_text().strip(), seconds=120)
            yield {**variables, "RAY_ADDRESS": address.read_text().strip()}
        finally:
            head.terminate()
            head.wait(60)
            wait_until(lambda: not find_processes(mark), seconds=30)
