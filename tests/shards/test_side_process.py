"""The process beside a stage: what it gives back, and that nothing of this process hangs in it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from answerkey.core.errors import InputError
from answerkey.shards.side_process import open_side_process
from tests.shared.paths import ROOT
from tests.shared.processes import MARK, find_processes, wait_until

_PATIENCE_S = 60
PARENT = """
import os, pathlib, sys, time
from answerkey.shards.side_process import open_side_process

if __name__ == "__main__":
    with open_side_process("waits") as pool:
        pool.submit(os.getpid)
        pathlib.Path(sys.argv[1]).write_text(str(pool.wait().result()))
        pool.submit(time.sleep, 600)
        pool.wait()
"""


def wait_for(future: Future[Any]) -> Any:
    return future.result(timeout=_PATIENCE_S)


def test_work_is_done_in_another_process() -> None:
    with open_side_process("waits") as pool:
        assert wait_for(pool.submit(os.getpid)) not in (os.getpid(), None)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to look for a process")
def test_it_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "child"
    mark = str(tmp_path)
    command = [sys.executable, "-c", PARENT, str(note)]
    parent = subprocess.Popen(command, cwd=ROOT, env={**os.environ, MARK: mark})
    try:
        wait_until(lambda: note.exists() and note.read_text(), seconds=_PATIENCE_S)
        assert int(note.read_text()) in find_processes(mark)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not find_processes(mark), seconds=_PATIENCE_S)


def stop_at_work() -> None:
    with open_side_process("waits") as pool:
        wait_for(pool.submit(os.getpid))
        pool.submit(time.sleep, 600)
        raise KeyboardInterrupt


def test_it_ends_at_once_with_an_interrupt() -> None:
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        stop_at_work()
    assert time.monotonic() - started < _PATIENCE_S


def test_its_error_is_raised_where_the_result_is_asked_for() -> None:
    with open_side_process("waits") as pool:
        future = pool.submit(math.sqrt, -1)
        with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
            wait_for(future)


def kill_at_work() -> None:
    with open_side_process("waits for ever") as pool:
        os.kill(wait_for(pool.submit(os.getpid)), signal.SIGKILL)
        wait_for(pool.submit(time.sleep, 600))


def test_process_that_is_killed_is_named_by_what_it_does() -> None:
    with pytest.raises(InputError, match="The process that waits for ever was killed, perhaps for"):
        kill_at_work()
