"""Ctrl-C at any step of a run: it ends the run, and nothing hangs."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty
from types import FrameType
from typing import Any

import pytest

from answerkey.shards.interrupts import hold_interrupts
from answerkey.shards.process_pool import open_pool
from answerkey.shards.workers import map_unordered
from tests.shared.processes import heed_interrupts

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
_WAITS = 2  # after its one result, in which no other comes: a run has nothing left to do
_PATIENCE_S = 60


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    with heed_interrupts():
        yield


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def test_interrupt_is_raised_once_at_the_end_of_the_block() -> None:
    steps = []

    def interrupt_within() -> None:
        with hold_interrupts():
            interrupt()
            interrupt()
            steps.append("in the block")
        steps.append("after the block")

    with pytest.raises(KeyboardInterrupt):
        interrupt_within()
    assert steps == ["in the block"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_block_without_an_interrupt_changes_nothing() -> None:
    with hold_interrupts():
        pass
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_and_error_are_both_told() -> None:
    def fail_within() -> None:
        with hold_interrupts():
            interrupt()
            raise ValueError("of the block")

    with pytest.raises(KeyboardInterrupt) as caught:
        fail_within()
    assert isinstance(caught.value.__context__, ValueError)


def test_block_within_a_block_raises_at_the_end_of_the_outer_one() -> None:
    steps = []

    def interrupt_within_both() -> None:
        with hold_interrupts():
            with hold_interrupts():
                interrupt()
            steps.append("after the inner block")
        steps.append("after the outer block")

    with pytest.raises(KeyboardInterrupt):
        interrupt_within_both()
    assert steps == ["after the inner block"]


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_who_does_not_handle_interrupts_goes_on_so(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    with hold_interrupts():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_other_threads_leave_the_handler_alone() -> None:
    seen: list[Any] = []

    def look() -> None:
        with hold_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]


# --- at every step of a run


def wait_long(number: int) -> int:
    time.sleep(600 if number else 0)
    return number


def run_workers() -> None:
    for _ in map_unordered(wait_long, itertools.count(), workers=2):
        pass


def run_beside() -> None:
    with open_pool(1) as pool:
        pool.submit(wait_long, 0)
        pool.wait().result()
        pool.submit(wait_long, 1)
        pool.wait().result()


def interrupt_at_step(step: int, run: Callable[[], None]) -> bool:
    """Whether the run has so many calls and returns; it ends at that one, else by an alarm."""
    left = step
    has_result = False
    waits_in_vain = 0

    def look(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        nonlocal left, has_result, waits_in_vain
        frame.f_trace_lines = False
        left -= event in ("call", "return")
        if left == 0:
            sys.settrace(None)
            signal.alarm(_PATIENCE_S)
            interrupt()
        has_result |= frame.f_code is Future.result.__code__
        if has_result and event == "call" and frame.f_code is suppress.__exit__.__code__:
            waits_in_vain += frame.f_locals["exctype"] is Empty
            if waits_in_vain == _WAITS and left > 0:
                raise Idle
        return look

    class Idle(BaseException):
        """Nothing is left to do but wait."""

    class Hanging(BaseException):
        """The run goes on without its interrupt, or does not end with it."""

    def give_up(*_: object) -> None:
        sys.settrace(None)
        raise Hanging

    before = sys.gettrace()
    handler = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE_S)
    try:
        sys.settrace(look)
        run()
    except KeyboardInterrupt:
        return True
    except Idle:
        return False
    finally:
        sys.settrace(before)
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)
    raise AssertionError("a run without an end has ended")


@pytest.mark.slow
@pytest.mark.parametrize("run", [run_workers, run_beside])
def test_interrupt_at_any_step_ends_the_run(run: Callable[[], None]) -> None:
    step = 1
    while interrupt_at_step(step, run):
        assert multiprocessing.active_children() == []
        step += 1
    assert multiprocessing.active_children() == []
    assert step > 100
