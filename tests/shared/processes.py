"""The processes that a test has started, and those that they have."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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
