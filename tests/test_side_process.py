"""The process beside a stage: what it gives back, and that nothing of this process hangs in it."""

from __future__ import annotations

import math
import os
from concurrent.futures import Future
from typing import Any

import pytest

from stages.report.charts import draw_bars, make_bar
from stages.side_process import open_side_process

_PATIENCE_S = 60


def wait_for(future: Future[Any]) -> Any:
    return future.result(timeout=_PATIENCE_S)


def test_work_is_done_in_another_process() -> None:
    with open_side_process() as pool:
        assert wait_for(pool.submit(os.getpid)) not in (os.getpid(), None)


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
