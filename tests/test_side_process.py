"""The process beside a stage: what it gives back, and that nothing of this process hangs in it."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from stages.report.charts import draw_bars, make_bar
from stages.side_process import open_side_process

ROOT = Path(__file__).resolve().parent.parent
_PATIENCE_S = 60
PARENT = """
import os, pathlib, sys, time
from stages.side_process import open_side_process

if __name__ == "__main__":
    with open_side_process() as pool:
        pathlib.Path(sys.argv[1]).write_text(str(pool.submit(os.getpid).result()))
        pool.submit(time.sleep, 600).result()
"""


def wait_for(future: Future[Any]) -> Any:
    return future.result(timeout=_PATIENCE_S)


def wait_until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(process_id: int) -> bool:
    """Whether there is such a process, a zombie aside that nobody has looked at yet."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_work_is_done_in_another_process() -> None:
    with open_side_process() as pool:
        assert wait_for(pool.submit(os.getpid)) not in (os.getpid(), None)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc to look for a process")
def test_it_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "child"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(note)], cwd=ROOT)
    try:
        wait_until(lambda: note.exists() and note.read_text())
        child = int(note.read_text())
        os.kill(child, 0)
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not is_running(child))


def test_its_error_is_raised_where_the_result_is_asked_for() -> None:
    with open_side_process() as pool:
        future = pool.submit(math.sqrt, -1)
        with pytest.raises(ValueError, match=r"math domain error|nonnegative"):
            wait_for(future)


def test_engine_that_this_process_has_started_does_not_hang_in_it() -> None:
    bars = [make_bar("easy", 3, 5)]
    here = draw_bars(bars)
    with open_side_process() as pool:
        assert wait_for(pool.submit(draw_bars, bars)) == here
